/** A real Varnish on a random port of the loopback interface, an origin behind it and a proxy in front, ended by their process ids. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLastingPort } from 'svc/testing'
import type { Test } from 'tap'

const startDeadlineMs = 60_000
const vcl = readFileSync(resolve(import.meta.dirname, '../varnish.vcl'), 'utf8')

// Where Debian has the server.
process.env.PATH += `${delimiter}/usr/sbin`

// A test process that is ended by its runner must not leave a server behind.
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(1))

/** False, or why tests that need the server are skipped. */
export function skipWithoutVarnish(): string | false {
  if (spawnSync('which', ['varnishd']).status === 0) return false
  if (process.env.CI) throw new Error('varnishd is not installed, and CI is set')
  return 'varnishd is not installed'
}

async function listen(t: Test, server: Server | TcpServer): Promise<number> {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  t.teardown(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Ended with the test. */
export async function startVarnish(t: Test, token: string) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-varnish-'))
  // Started by root it reads its configuration as another user.
  chmodSync(folder, 0o755)
  const tags = new Map<string, string>()
  const origin = createServer(({ url = '', headers }, response) => {
    const found = tags.get(`https://${headers.host}${url}`) ?? ''
    response.writeHead(200, { 'cache-control': 'max-age=600', 'x-cache-tags': found }).end(url)
  })
  const originPort = await listen(t, origin)
  // A copy is asked for without filling: what is not there is 504.
  const peek = '\nsub vcl_miss { if (req.http.X-Peek) { return (synth(504)); } }\n'
  writeFileSync(join(folder, 'test.vcl'), vcl.replace('"9000"', `"${originPort}"`) + peek)
  const port = await findLastingPort()
  const child = spawn(
    'varnishd',
    [
      '-F',
      '-n',
      join(folder, 'work'),
      '-a',
      `127.0.0.1:${port}`,
      '-f',
      join(folder, 'test.vcl'),
      '-s',
      'malloc,64M',
      '-T',
      'none',
    ],
    { env: { PATH: process.env.PATH, PURGE_TOKEN: token }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (log = `${log}${text}`.slice(-4000)))
  const ended = new Promise<void>(done => child.once('close', () => done()))
  const kill = () => void child.kill('SIGTERM')
  process.on('exit', kill)
  t.teardown(async () => {
    process.off('exit', kill)
    kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = (url: string, headers: Readonly<Record<string, string>> = {}) => {
    const { host, pathname } = new URL(url)
    return new Promise<number>((done, fail) => {
      request({ host: '127.0.0.1', port, path: pathname, headers: { host, ...headers } }, (answer: IncomingMessage) => {
        answer.resume().on('end', () => done(answer.statusCode ?? 0))
      })
        .on('error', fail)
        .end()
    })
  }
  const deadlineMs = Date.now() + startDeadlineMs
  while ((await ask('http://ready.test/').catch(() => 0)) !== 200) {
    if (Date.now() > deadlineMs || child.exitCode !== null) throw new Error(`Varnish does not start: ${log}`)
    await sleep(50)
  }

  let next: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined
  let isHanging = false
  // Of bytes: the parser of Node.js does not know the method BAN.
  const proxy = createTcpServer(socket => {
    socket.on('error', () => {})
    if (isHanging) return
    if (next !== undefined) {
      const { status, headers } = next
      next = undefined
      const lines = Object.entries({ ...headers, 'content-length': '0', connection: 'close' })
      const head = [`HTTP/1.1 ${status} Test`, ...lines.map(([name, value]) => `${name}: ${value}`), '', '']
      socket.once('data', () => socket.end(head.join('\r\n')))
      return
    }
    const behind = connect(port, '127.0.0.1')
    behind.on('error', () => socket.destroy())
    socket.on('close', () => behind.destroy())
    socket.pipe(behind).pipe(socket)
  })
  return {
    url: `http://127.0.0.1:${await listen(t, proxy)}`,
    cdn: {
      async put(url: string, own: readonly string[] = []) {
        tags.set(url, own.join(','))
        await ask(url)
      },
      has: async (url: string) => (await ask(url, { 'x-peek': '1' })) === 200,
    },
    answerNext(status: number, headers: Readonly<Record<string, string>> = {}) {
      next = { status, headers }
    },
    hang() {
      isHanging = true
    },
  }
}
