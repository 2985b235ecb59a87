/** A stream that svcctl follows goes on when the server is restarted, and when it was killed. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { accessKey, secretKey, startServer } from './server.ts'

t.test('svcctl admin trace connects again', async t => {
  const consolePort = await findLastingPort()
  const environment = { SVC_CONSOLE_ADDRESS: `127.0.0.1:${consolePort}` }
  const server = await startServer({ environment })
  t.teardown(() => server.remove())
  const env = {
    PATH: process.env.PATH,
    SVCCTL_CONFIG_DIR: join(server.folder, 'svcctl'),
    SVCCTL_SECRET_KEY: secretKey,
  }
  const start = (...args: string[]) => {
    const all = [svcctlProgram, '--admin-url', `http://127.0.0.1:${consolePort}`, ...args]
    const child = spawn(process.execPath, all, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.teardown(() => child.kill('SIGKILL'))
    const said = { stdout: '', stderr: '' }
    child.stdout.on('data', chunk => {
      said.stdout += chunk
    })
    child.stderr.on('data', chunk => {
      said.stderr += chunk
    })
    return { said, ended: new Promise<number | null>(done => child.on('close', done)) }
  }
  t.equal(await start('alias', 'set', 'home', server.endpoint, accessKey).ended, 0)
  const { said, ended } = start('admin', 'trace', 'home', '--type', 's3', '--count', '3', '--json')
  const lines = () => said.stdout.split('\n').length - 1
  /** Until the stream, which opens a little later than the server does, tells of one more. */
  const seeOneMore = async () => {
    const before = lines()
    for (let i = 0; i < 900 && lines() === before; i++) {
      await fetch(`${server.endpoint}/photos/${before}`).then(answer => answer.text())
      await sleep(100)
    }
    t.ok(lines() > before, said.stderr.slice(-600))
  }
  await seeOneMore()
  await server.stop()
  await server.start()
  if (lines() < 2) await seeOneMore()
  await server.kill()
  await server.start()
  if (lines() < 3) await seeOneMore()
  t.equal(await ended, 0, said.stderr.slice(-600))
  t.match(said.stderr, /onnecting again/)
  for (const line of said.stdout.trim().split('\n')) t.match(JSON.parse(line), { type: 's3', status: 404 })
})
