/** The example, as its page has it, on free ports. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcctlProgram, svcProgram } from '../../../test/services/programs.ts'

const example = resolve(import.meta.dirname, '..')

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().on('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })
}

function requireCurl(): string | false {
  if (existsSync('/usr/bin/curl')) return false
  if (process.env.CI) throw new Error('curl is missing')
  return 'curl is not installed'
}

t.test('a folder on a domain in one command', { skip: requireCurl(), timeout: 120_000 }, async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'bin'))
  const programs = { svc: svcProgram, svcctl: svcctlProgram }
  for (const [name, source] of Object.entries(programs)) {
    const text = `#!/bin/sh\nexec '${process.execPath}' '${source}' "$@"\n`
    writeFileSync(join(folder, 'bin', name), text, { mode: 0o755 })
  }
  const page = readFileSync(join(example, 'README.md'), 'utf8')
  let script = /```sh\n(.*?)```/s.exec(page)![1]!
  for (const port of [9000, 9001, 8080]) script = script.replaceAll(`:${port}`, `:${await freePort()}`)
  const child = spawn('bash', ['-ec', script], {
    cwd: example,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: folder, TMPDIR: folder },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 110_000)
  const code = await new Promise(done => child.on('close', done))
  clearTimeout(timer)
  t.equal(code, 0, 'it runs to its end', { output })
  const expected = [
    '3 files of site are on http://www.example.test/',
    '<h1>A site on a name of its own</h1>',
    'text/css; charset=utf-8',
    /http:\/\/www\.example\.test:\d+\/docs\/\n/,
    '404 for what is missing',
    '400 for what leads out',
    '421 for another host',
    'exact (step a)',
    '403 while it is disabled',
  ]
  for (const text of expected) t.match(output, text)
})
