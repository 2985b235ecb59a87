/** Real processes: one thread or several behind one port, a thread that dies, ports in use, graceful stop. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { connectRaw } from './server.ts'

const root = resolve(import.meta.dirname, '../../..')
const folder = mkdtempSync(join(tmpdir(), 'svc-threads-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const names = ['iam', 'metrics', 'prometheus', 'tls', 'http', 'health', 'trace']
const plugins = [...names.map(name => `${name}/index.ts`), 'server/init.ts'].map(path => join(root, 'plugins', path))
const configFile = join(folder, 'config.json')
writeFileSync(configFile, JSON.stringify({ plugins: [...plugins, join(import.meta.dirname, 'fixtures/protocol.ts')] }))

/** A start takes a second on a quiet machine. */
const startMsMax = 120_000
/** Which thread takes a connection is the system's choice: so many may go to one of two before the other one shows. */
const connectionsMax = 2000

interface Run {
  readonly child: ChildProcess
  readonly environment: Record<string, string>
  log(): string
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

function run(command: readonly string[], environment: Record<string, string>): Run {
  const arguments_ = ['--conditions=svc-src', join(root, 'kernel/main.ts'), ...command]
  const child = spawn(process.execPath, arguments_, {
    env: { PATH: process.env.PATH, SVC_CONFIG_FILE: configFile, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  child.stdout.on('data', data => {
    text += data
  })
  child.stderr.on('data', data => {
    text += data
  })
  return { child, environment, log: () => text, ended: new Promise(ended => child.once('exit', ended)) }
}

async function startServer(
  workers: number,
  extra: Record<string, string> = {},
): Promise<Run & { port: number; console: number }> {
  const server = run(['server'], {
    SVC_ROOT_USER: 'admin',
    SVC_ROOT_PASSWORD: 'change-me-please',
    SVC_WORKERS: String(workers),
    SVC_ADDRESS: '127.0.0.1:0',
    SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
    SVC_PROMETHEUS_AUTH_TYPE: 'public',
    ...extra,
  })
  t.teardown(() => server.child.kill('SIGKILL'))
  for (const deadlineMs = performance.now() + startMsMax; performance.now() < deadlineMs; ) {
    const ready = server
      .log()
      .split('\n')
      .find(line => line.includes('"msg":"ready"'))
    if (ready !== undefined) {
      const facts = JSON.parse(ready) as { s3: string; console: string }
      return { ...server, port: Number(facts.s3.split(':')[1]), console: Number(facts.console.split(':')[1]) }
    }
    if (server.child.exitCode !== null) break
    await delay(50)
  }
  throw new Error(`the server did not start: ${server.log()}`)
}

const get = async (port: number, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })).text()

/** The threads that answer, over new connections: at least 40, and more until so many threads have answered. */
async function threadsBehind(
  port: number,
  count: number,
  ask = () => get(port, '/b/k'),
): Promise<{ threads: string[]; requests: number }> {
  const seen = new Set<string>()
  let requests = 0
  for (; requests < 40 || (seen.size < count && requests < connectionsMax); requests++) seen.add(await ask())
  return { threads: [...seen].sort(), requests }
}

/** Sends a request whose answer takes a while; resolves when the server has it. */
async function beginSlow(server: Run & { port: number }) {
  const slow = await connectRaw(server.port)
  await slow.send('GET /slow HTTP/1.1\r\nHost: a\r\n\r\n')
  for (const deadlineMs = performance.now() + startMsMax; !server.log().includes('a slow request'); ) {
    if (performance.now() > deadlineMs) throw new Error(`the request did not arrive: ${server.log()}`)
    await delay(10)
  }
  return slow
}

t.test('one thread answers everything', async t => {
  const server = await startServer(0)
  t.same((await threadsBehind(server.port, 1)).threads, ['0'])
  t.match(JSON.parse(await get(server.port, '/svc/health/ready')), { ok: true, status: 'ready' })
  const slow = await beginSlow(server)
  server.child.kill('SIGTERM')
  t.match(await slow.closed(), /^HTTP\/1\.1 200 .*\r\n\r\n0$/s, 'what is in flight is finished')
  t.equal(await server.ended, 0)
})

t.test('two workers share one free port, and the replacement of a dead one binds it', async t => {
  const server = await startServer(2)
  const { threads, requests } = await threadsBehind(server.port, 2)
  t.same(threads, ['1', '2'])
  t.equal((await fetch(`http://127.0.0.1:${server.console}/svc/health/live`)).status, 200)
  const metrics = await get(server.console, '/svc/metrics/v1/node')
  t.equal(metrics.match(/svc_test_requests_total\{server="[^"]+"\} (\d+)\n/)?.[1], `${requests}`, 'summed over threads')
  t.match(metrics, /svc_node_info\{version="[^"]+",commit="[^"]+",server="[^"]+"\} 1\n/)
  t.match(metrics, /process_start_time_seconds\{server="[^"]+"\} \d{10}/)

  await get(server.port, '/die').catch(() => {})
  let again: string[] = []
  for (const deadlineMs = performance.now() + startMsMax; again.length < 2 && performance.now() < deadlineMs; ) {
    await delay(250)
    again = (await threadsBehind(server.port, 1).catch(() => undefined))?.threads ?? []
  }
  t.same(again, ['1', '2'], 'both answer again')

  const second = run(['server'], { ...server.environment, SVC_ADDRESS: `127.0.0.1:${server.port}` })
  const rehearsal = run(['server', '--dry-run'], { ...server.environment, SVC_ADDRESS: `127.0.0.1:${server.port}` })
  t.not(await second.ended, 0)
  t.match(second.log(), /the address is in use/, 'a second server may not share the port')
  t.not(await rehearsal.ended, 0)
  t.match(rehearsal.log(), /the address is in use/)

  const probe = run(['healthcheck', '--ready'], { SVC_ADDRESS: `127.0.0.1:${server.port}` })
  t.equal(await probe.ended, 0, probe.log())
  t.match(probe.log(), /"status":"ready"/)

  const slow = await beginSlow(server)
  server.child.kill('SIGTERM')
  t.match(await slow.closed(), /^HTTP\/1\.1 200 .*\r\n\r\n[12]$/s)
  t.equal(await server.ended, 0)
})

t.test('workers share the web port as they share that of S3', async t => {
  const server = await startServer(2, { SVC_WEB_ADDRESS: '127.0.0.1:0' })
  const ready = server
    .log()
    .split('\n')
    .find(line => line.includes('"msg":"ready"'))
  const port = Number((JSON.parse(ready!) as { web: string }).web.split(':')[1])
  const { threads } = await threadsBehind(port, 2, async () => {
    const client = await connectRaw(port)
    await client.send('GET / HTTP/1.0\r\nHost: site.test\r\n\r\n')
    return (await client.closed()).slice(-6)
  })
  t.same(threads, ['site 1', 'site 2'])
  t.equal((await fetch(`http://127.0.0.1:${port}/svc/health/live`)).status, 421)

  const second = run(['server'], { ...server.environment, SVC_WEB_ADDRESS: `127.0.0.1:${port}` })
  t.not(await second.ended, 0)
  t.match(second.log(), /the address is in use; SVC_WEB_ADDRESS sets another one/)
  server.child.kill('SIGTERM')
  t.equal(await server.ended, 0)
})

t.test('the commands work without a server', async t => {
  const environment = { SVC_ROOT_USER: 'admin', SVC_ROOT_PASSWORD: 'change-me-please' }
  const file = join(folder, 'svc.env')
  const init = run(['init', file], {})
  const scrape = run(['prometheus', 'generate', '--expiry', '30d'], environment)
  t.equal(await init.ended, 0, init.log())
  t.equal(await scrape.ended, 0, scrape.log())
  t.match(scrape.log(), /credentials: [\w-]+\.[\w-]+\.[\w-]+\n/)
})
