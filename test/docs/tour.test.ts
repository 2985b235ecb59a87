/** The documents that a newcomer follows, line by line: the server as README starts it, and every block of the tours. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { requireProgram } from '../wire/clients.ts'
import { blocksOf, root, scriptOf } from './blocks.ts'

const folder = temporaryFolder(t, 'bin')
// For the program of the SDK.
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
writeFileSync(join(folder, 'bin/svcctl'), `#!/bin/sh\nexec '${process.execPath}' '${svcctlProgram}' "$@"\n`, {
  mode: 0o755,
})
const missing = ['aws', 'rclone', 's3cmd', 'curl', 'restic'].map(requireProgram).find(({ skip }) => skip)?.skip ?? false

/** The process group of a child that was started detached. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Starts the server with README's own command, except that the packages are installed and the ports are free ones. */
async function startAsReadmeSays(): Promise<{ readonly s3: string; readonly console: string }> {
  const [block] = blocksOf('README.md', 'server')
  const command = block!.text
    .trim()
    .replace(/^npm ci && /, '')
    .replace('$PWD/data', join(folder, 'data'))
  if (command === block!.text.trim() || !command.includes(folder)) throw new Error(`Not the command it was: ${command}`)
  const child = spawn('bash', ['-c', command], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder, SVC_ADDRESS: '127.0.0.1:0', SVC_CONSOLE_ADDRESS: '127.0.0.1:0' },
  })
  const ended = new Promise(done => child.once('close', done))
  t.teardown(async () => {
    killGroup(child)
    await ended
  })
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stderr! })) {
    lines.push(line)
    const s3 = /"s3":"[^"]*:(\d+)/.exec(line)?.[1]
    const console = /"console":"[^"]*:(\d+)/.exec(line)?.[1]
    if (s3 !== undefined && console !== undefined) {
      child.stderr!.resume()
      return { s3, console }
    }
  }
  throw new Error(`README's server did not start:\n${lines.join('\n')}`)
}

function runScript(name: string, script: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const home = join(folder, name)
  mkdirSync(home)
  return new Promise((done, fail) => {
    const child = spawn('bash', ['-c', script], {
      cwd: home,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      // The system's own clients first, as a fresh machine has them.
      env: {
        PATH: `${join(folder, 'bin')}:/usr/bin:${process.env.PATH}`,
        HOME: home,
        LC_ALL: 'C.UTF-8',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    })
    t.teardown(() => killGroup(child))
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', text => (output += text))
    child.on('error', fail)
    child.on('close', code => {
      done({ code, output })
    })
  })
}

t.test('the tours', { skip: missing }, async t => {
  const ports = await startAsReadmeSays()
  for (const [document, expected] of [
    ['README.md', ['hello from svc', '0 differences found', '2026/hello.txt', 'kept']],
    ['docs/start/clients.md', ["b'from python'", 's3://clients/s3cmd.txt', 'size: 10', '<Key>curl.txt</Key>']],
    [
      'docs/operate/users.md',
      [' may.txt', 'refused, as it should be', 'nightly backup', /allowed: +no/, '"version"', '"reason"'],
    ],
    [
      'docs/operate/buckets.md',
      [
        'private, as it',
        'allowed  s3:GetObject free/hello.txt',
        'first draft',
        'locked, as it',
        'old-versions',
        'over the quota, as it',
      ],
    ],
    [
      'docs/operate/events.md',
      ['"Key":"watched/picture.jpg"', '"pendingEvents":1', '"s3:ObjectRemoved:Delete"', 'told again'],
    ],
    [
      'docs/operate/backup-tools.md',
      [
        'no errors were found',
        'restic gave everything back',
        '0 differences found',
        'rclone gave everything back',
        'Nothing to copy',
        'svcctl gave everything back',
        'the machine may not, as it should be',
      ],
    ],
  ] as const) {
    const blocks = blocksOf(document, 'tour')
    t.ok(blocks.length > 3, `${document} has its blocks`)
    const script = scriptOf(blocks)
      // The Admin API is at the port after that of S3, if nobody says otherwise.
      .replaceAll('svcctl alias set', 'svcctl --admin-url http://localhost:9001 alias set')
      .replaceAll('localhost:9000', `localhost:${ports.s3}`)
      .replaceAll('localhost:9001', `localhost:${ports.console}`)
      .replaceAll('port: 9000', `port: ${ports.s3}`)
    const { code, output } = await runScript(document.replaceAll('/', '-'), script)
    t.equal(code, 0, `${document} runs to its end`, { output })
    for (const text of expected) t.match(output, text, `${document} shows ${text}`)
  }
})
