/** nginx with a configuration of a test: the part within `http`. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from 'svc/testing'
import type { Test } from 'tap'

const startMsMax = 90_000
const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(done => probe.listen(0, '127.0.0.1', done))
  const { port } = probe.address() as { port: number }
  await new Promise(done => probe.close(done))
  return port
}

const answers = (port: number) =>
  new Promise<boolean>(done => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => done(true)).once('error', () => done(false))
    socket.once('connect', () => socket.destroy())
  })

export interface Nginx {
  readonly port: number
  /** With this configuration, which listens on the port. Ended when the test ends. */
  start(configuration: string): Promise<void>
}

/** The port is known before the server is, whose configuration may need it. */
export async function prepareNginx(t: Test, program: string): Promise<Nginx> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'svc-nginx-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return {
    port,
    async start(configuration) {
      const paths = temporary.map(name => `${name}_temp_path ${folder}/${name};`).join(' ')
      const user = process.getuid?.() === 0 ? 'user root;' : ''
      const file = join(folder, 'nginx.conf')
      writeFileSync(
        file,
        `daemon off; pid ${folder}/pid; ${user} worker_processes 1; events {}\n` +
          `http { access_log off; ${paths}\n${configuration}\n}\n`,
      )
      const child = spawn(program, ['-c', file, '-e', join(folder, 'error.log')], { stdio: 'ignore' })
      const ended = new Promise(done => child.once('close', done))
      t.teardown(async () => {
        child.kill('SIGTERM')
        await ended
      })
      await eventually(
        () => answers(port),
        isThere => isThere,
        startMsMax,
      )
    },
  }
}
