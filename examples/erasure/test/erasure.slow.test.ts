/** The example, as its page has it, on free ports. */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcProgram } from '../../../test/services/programs.ts'

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().on('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => done(port))
    })
  })
}

function requireClients(): string | false {
  for (const program of ['aws', 'curl']) {
    try {
      readFileSync(`/usr/bin/${program}`)
    } catch {
      if (process.env.CI) throw new Error(`${program} is missing`)
      return `${program} is not installed`
    }
  }
  return false
}

t.test('a set that loses a disk and gets a new one', { skip: requireClients(), timeout: 200_000 }, async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'bin'))
  const svc = `#!/bin/sh\nexec '${process.execPath}' '${svcProgram}' "$@"\n`
  writeFileSync(join(folder, 'bin/svc'), svc, { mode: 0o755 })
  const page = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8')
  const block = /```sh\n(.*?)```/s.exec(page)![1]!
  const s3 = await freePort()
  const script = block.replaceAll(':9000', `:${s3}`).replaceAll(':9001', `:${await freePort()}`)
  const child = spawn('bash', ['-ec', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      HOME: folder,
      TMPDIR: folder,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), 180_000)
  const code = await new Promise(done => child.on('close', done))
  clearTimeout(timer)
  t.equal(code, 0, 'it runs to its end', { output })
  for (const text of ['3 of 4 drives online', 'the same without a disk', 'the new disk has its shards'])
    t.match(output, text)
})
