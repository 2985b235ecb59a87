/** The README, followed from an empty folder: its files are those of the package, and its commands run as they stand. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findLastingPort } from 'svc/testing'
import t from 'tap'
import { skipWithout } from './mosquitto.ts'

const here = join(import.meta.dirname, '..')
const readme = readFileSync(join(here, 'README.md'), 'utf8')
const blocks = [...readme.matchAll(/<!-- (\S+) -->\n```\w+\n(.*?)```/gs)].map(
  ([, name, text]) => [name!, text!] as const,
)
const files = blocks.filter(([name]) => name !== 'run')
const scriptDeadlineMs = 240_000

t.test('every file that the README shows is that of the package', async t => {
  t.same(files.map(([name]) => name).sort(), [
    'connection.ts',
    'index.ts',
    'package.json',
    'settings.ts',
    'target.ts',
    'test/contract.test.ts',
  ])
  for (const [name, text] of files) t.equal(text, readFileSync(join(here, name), 'utf8'), name)
  const fences = readme.match(/^```\w+$/gm)!.length
  t.equal(fences, blocks.length + 1, 'one block is neither a file nor run below: how the tests are started')
})

t.test(
  'the commands of the README',
  {
    skip: skipWithout('mosquitto', 'mosquitto_sub', 'mosquitto_pub', 'aws'),
    timeout: 2 * scriptDeadlineMs,
  },
  async t => {
    const folder = t.testdir({ bin: {}, 'svc-plugin-notify-mqtt': { node_modules: {}, test: {} } })
    const own = join(folder, 'svc-plugin-notify-mqtt')
    for (const [name, text] of files) writeFileSync(join(own, name), text)
    // What `npm install` puts there.
    const server = dirname(fileURLToPath(import.meta.resolve('svc/package.json')))
    symlinkSync(server, join(own, 'node_modules/svc'))
    for (const name of ['mqtt', 'typebox']) symlinkSync(folderOf(name), join(own, 'node_modules', name))
    for (const [name, main] of [
      ['svc', 'kernel/main.ts'],
      ['svcctl', 'contrib/svcctl/main.ts'],
    ] as const) {
      const command = `#!/bin/sh\nexec '${process.execPath}' --conditions=svc-src '${join(server, main)}' "$@"\n`
      writeFileSync(join(folder, 'bin', name), command, { mode: 0o755 })
    }

    const [s3, admin, broker] = [await findLastingPort(), await findLastingPort(), await findLastingPort()]
    const script = blocks
      .flatMap(([name, text]) => (name === 'run' ? [text] : []))
      .join('\n')
      // The Admin API is at the port after that of S3, if nobody says otherwise.
      .replaceAll('svcctl alias set', `svcctl --admin-url http://localhost:${admin} alias set`)
      .replaceAll('localhost:9000', `localhost:${s3}`)
      .replaceAll('1883', String(broker))
    const child = spawn('bash', ['-c', `set -euo pipefail\n${script}`], {
      cwd: folder,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        // The system's own clients first, as a fresh machine has them.
        PATH: `${join(folder, 'bin')}:/usr/bin:/usr/sbin:${process.env.PATH}`,
        HOME: folder,
        LC_ALL: 'C.UTF-8',
        AWS_EC2_METADATA_DISABLED: 'true',
        SVC_ADDRESS: `127.0.0.1:${s3}`,
        SVC_CONSOLE_ADDRESS: `127.0.0.1:${admin}`,
        SVC_WORKERS: process.env.SVC_WORKERS ?? '0',
      },
    })
    const timer = setTimeout(() => killGroup(child), scriptDeadlineMs)
    const kill = () => killGroup(child)
    process.on('exit', kill)
    t.teardown(() => {
      clearTimeout(timer)
      kill()
      process.off('exit', kill)
    })
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', text => (output += text))
    const code = await new Promise((done, fail) => child.on('error', fail).on('close', done))

    t.equal(code, 0, 'they run to their end', { output })
    t.match(output, /notify-mqtt +0\.1\.0 +active/)
    t.match(output, `mqtt://127.0.0.1:${broker}/storage/events`)
    t.match(output, '"EventName":"s3:ObjectCreated:Put","Key":"pictures/cat.jpg"')
    t.match(output, 'did not answer within 5000 ms', 'the broker was away')
    t.match(output, '"EventName":"s3:ObjectRemoved:Delete"')
    const events = readFileSync(join(folder, 'events/received.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    t.match(events[0], { Service: 'svc', Event: 's3:TestEvent' })
    t.match(
      events.find(({ EventName }) => EventName === 's3:ObjectCreated:Put'),
      { Records: [{ s3: { bucket: { name: 'pictures' }, object: { key: 'cat.jpg' } } }] },
    )
    t.notMatch(readFileSync(join(folder, 'events/server.log'), 'utf8'), /"level":"(error|fatal)"/)
  },
)

/** Of an installed package, wherever its entry lies in it. */
function folderOf(name: string): string {
  const path = fileURLToPath(import.meta.resolve(name))
  return path.slice(0, path.lastIndexOf(`/node_modules/${name}/`) + `/node_modules/${name}`.length)
}

/** The process group of a child that was started detached. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
