/** A server in a process of its own that svcctl restarts and stops, while svcctl works with it. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually, findLastingPort, until } from 'svc/testing'
import t, { type Test } from 'tap'
import { svcProgram } from '../../../test/services/programs.ts'
import { rootPassword, rootUser } from './server.ts'
import { createSession } from './session.ts'

const fileCount = 300
const fileBytes = 4096

async function start(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'svcctl-restart-'))
  const [s3, console] = [`127.0.0.1:${await findLastingPort()}`, `127.0.0.1:${await findLastingPort()}`]
  const child = spawn(process.execPath, [svcProgram, 'server', join(folder, 'drive')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      SVC_ADDRESS: s3,
      SVC_CONSOLE_ADDRESS: console,
      SVC_ROOT_USER: rootUser,
      SVC_ROOT_PASSWORD: rootPassword,
      SVC_WORKERS: '0',
    },
  })
  const exited = new Promise<number | null>(done => child.once('exit', done))
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (more: string) => (log += more))
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  const readyCount = () => log.split('\n').filter(line => line.includes('"msg":"ready"')).length
  await until(() => readyCount() === 1, { what: 'the server is ready' })
  const session = createSession(folder)
  const set = ['alias', 'set', 'home', `http://${s3}`, rootUser, '--admin-url', `http://${console}`]
  const outcome = await session.run(set, { env: { SVCCTL_SECRET_KEY: rootPassword } })
  if (outcome.code !== 0) throw new Error(outcome.stderr)
  return { ...session, exited, readyCount }
}

t.test('a restart and a stop are waited for, and transfers under way go on through them', async t => {
  const { run, folder, exited, readyCount } = await start(t)
  t.equal((await run(['mb', 'home/photos'])).code, 0)
  for (let number = 0; number < fileCount; number++)
    await writeFile(join(folder, `${number}.bin`), randomBytes(fileBytes))
  const copiedTo = async (to: string) => (await run(['ls', to, '--json'])).records.length

  // A command that begins while nothing listens is told so at once. A copy that is over sooner than the server stops shows nothing.
  for (let round = 0, wasInterrupted = false; !wasInterrupted; round++) {
    const to = `home/photos/${round}/`
    const copying = run(['mirror', '--debug', '.', to])
    await until(async () => (await copiedTo(to)) > 0, { what: 'the copy is under way' })
    const restarted = await run(['admin', 'service', 'restart', 'home', '--yes'])
    t.equal(restarted.code, 0, restarted.stderr)
    t.match(restarted.stdout, /^\S+ restarted in \d+ s\.\n$/)
    t.equal(readyCount(), round + 2)
    const copied = await copying
    t.equal(copied.code, 0, 'the copy goes on', { stderr: copied.stderr })
    wasInterrupted = /ECONNREFUSED|ECONNRESET|socket hang up| 503 /.test(copied.stderr)
    t.equal(await copiedTo(to), fileCount)
  }

  const readyBefore = readyCount()
  const asked = await run(['admin', 'service', 'restart', 'home', '--yes', '--no-wait'])
  t.match(asked.stdout, /^The restart of \S+ is asked for\.\n$/)
  await eventually(readyCount, count => count === readyBefore + 1)
  const stopped = await run(['--json', 'admin', 'service', 'stop', 'home', '--yes'])
  t.equal(stopped.code, 0, stopped.stderr)
  t.match(stopped.records[0], { nodes: [String], seconds: Number })
  t.equal(await exited, 0)
})
