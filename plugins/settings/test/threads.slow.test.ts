/** A process with two workers: every thread sees a change, the log follows, one limit holds for all, and values survive a restart. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import { findLastingPort, until } from 'svc/testing'
import t from 'tap'

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const folder = await mkdtemp(join(tmpdir(), 'svc-settings-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const signer = { accessKey: 'admin', secret: 'change-me-please', region: 'us-east-1' }

interface Server {
  readonly lines: string[]
  /** Over a connection of its own, so that each may be accepted by another worker. */
  send(method: string, path: string, options?: { readonly body?: string; readonly origin?: string }): Promise<string>
  set(subsystem: string, settings: Record<string, string | null>): Promise<void>
  s3Port: number
  stop(): Promise<void>
}

async function start(): Promise<Server> {
  const [s3Port, consolePort] = [await findLastingPort(), await findLastingPort()]
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--conditions=svc-src',
      main,
      'server',
      '--workers',
      '2',
      '--address',
      `127.0.0.1:${s3Port}`,
      join(folder, 'drive'),
    ],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env.PATH,
        SVC_CONSOLE_ADDRESS: `127.0.0.1:${consolePort}`,
        SVC_ROOT_USER: signer.accessKey,
        SVC_ROOT_PASSWORD: signer.secret,
        SVC_LOG_LEVEL: 'warn',
      },
    },
  )
  const lines: string[] = []
  createInterface({ input: child.stderr! }).on('line', line => lines.push(line))
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  t.teardown(stop)
  const send: Server['send'] = (method, path, { body = '', origin } = {}) => {
    const isAdmin = path.startsWith('/api/')
    const port = isAdmin ? consolePort : s3Port
    const host = `127.0.0.1:${port}`
    const [rawPath, query = ''] = path.split('?')
    const given: Record<string, string> = {
      ...(isAdmin && { 'content-type': 'application/json' }),
      ...(origin && { origin }),
    }
    const payload = Buffer.from(body)
    const { headers } = signRequest(signer, {
      method,
      host,
      path: rawPath!,
      query,
      headers: given,
      payload,
      nowMs: Date.now(),
    })
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      socket.on('data', data => {
        text += data
      })
      socket.on('error', reject)
      socket.on('close', () => resolve(text))
      const head = Object.entries({
        host,
        ...given,
        ...headers,
        'content-length': String(payload.length),
        connection: 'close',
      })
      socket.write(
        `${method} ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
      )
    })
  }
  const isUp = () =>
    send('GET', '/api/v1/config').then(
      text => text.startsWith('HTTP/1.1 200'),
      () => false,
    )
  await until(async () => child.exitCode !== null || (await isUp()), { what: 'the start', withinMs: 120_000 })
  if (child.exitCode !== null) throw new Error(`it does not start: ${lines.join('\n')}`)
  return {
    lines,
    send,
    s3Port,
    stop,
    async set(subsystem, settings) {
      const text = await send('PATCH', `/api/v1/config/${subsystem}`, { body: JSON.stringify({ settings }) })
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text)
    },
  }
}

const statuses = async (server: Server, count: number) => {
  const answers = await Promise.all(Array.from({ length: count }, () => server.send('GET', '/')))
  return [...new Set(answers.map(text => text.split(' ')[1]))]
}

t.test('every thread sees a change at once, and the next start uses it', async t => {
  const server = await start()
  t.same(await statuses(server, 20), ['200'])
  for (let i = 0; i < 5; i++) {
    await server.set('api', { root_access: 'off' })
    t.same(await statuses(server, 20), ['403'])
    await server.set('api', { root_access: 'on' })
    t.same(await statuses(server, 20), ['200'])
  }
  await server.set('api', { cors_allow_origin: 'https://a.example' })
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => server.send('GET', '/', { origin: 'https://a.example' })),
  )
  t.ok(answers.every(text => /access-control-allow-origin: https:\/\/a\.example/i.test(text)))

  t.same(
    server.lines.filter(line => line.includes('"level":"info"')),
    [],
    'warnings alone, as the environment says',
  )
  await server.set('logger', { level: 'debug', format: 'text' })
  await server.set('api', { root_access: 'off' })
  await server.stop()
  const [stopping] = server.lines.filter(line => line.includes('stopping'))
  t.match(stopping, /^\[[^\]]+\] INFO: stopping/i, 'another level and another format')

  const again = await start()
  t.same(await statuses(again, 20), ['403'])
  const shown = await again.send('GET', '/api/v1/config')
  t.match(shown, /"logger":\{"level":"debug","format":"text"\}/)
  await again.send('DELETE', '/api/v1/config/logger')
  await again.set('api', { root_access: null })
  await new Promise(resolve => setTimeout(resolve, 200))
  again.lines.length = 0
  await again.stop()
  t.same(again.lines, [], 'as the environment says again')
})

t.test('one limit applies to all threads together', async t => {
  const server = await start()
  await server.set('api', { requests_max: '3', requests_deadline: '0' })
  const sockets = []
  for (let i = 0; i < 12; i++) {
    const host = `127.0.0.1:${server.s3Port}`
    const path = `/bucket/key-${i}`
    const payload = Buffer.from('text')
    const head = signRequest(signer, { method: 'PUT', host, path, query: '', headers: {}, payload, nowMs: Date.now() })
    const socket = connect(server.s3Port, '127.0.0.1')
    const all = Object.entries({ host, ...head.headers, 'content-length': '4' })
    socket.write(`PUT ${path} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\nte`)
    const first = once(socket, 'data').then(([data]) => String(data).split(' ')[1])
    sockets.push({
      socket,
      status: Promise.race([first, new Promise(resolve => setTimeout(() => resolve('under way'), 700))]),
    })
  }
  const states = await Promise.all(sockets.map(({ status }) => status))
  t.equal(states.filter(state => state === 'under way').length, 3)
  t.equal(states.filter(state => state === '503').length, 9)
  t.same(await statuses(server, 4), ['503'])
  for (const { socket } of sockets) socket.destroy()
  await new Promise(resolve => setTimeout(resolve, 200))
  await server.set('api', { requests_max: '1', requests_deadline: '10s' })
  t.same(await statuses(server, 30), ['200'], 'one after the other, in whichever thread')
  await server.stop()
})
