/** Probes on both ports, and the command that asks them. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CliIo, definePlugin } from 'svc/kernel'
import http from 'svc/plugins/http/index'
import iam from 'svc/plugins/iam/index'
import metrics from 'svc/plugins/metrics/index'
import prometheus from 'svc/plugins/prometheus/index'
import type { DriveStatus } from 'svc/plugins/storage/api'
import storage from 'svc/plugins/storage/index'
import tls from 'svc/plugins/tls/index'
import { createFakeClock, openPoints, startKernel, type TestKernel } from 'svc/testing'
import t from 'tap'
import healthcheck from '../command.ts'
import type { HealthConfig } from '../config.ts'
import health from '../index.ts'

/** What the storage of this test says about its drives. */
interface Stage {
  drives: () => Partial<DriveStatus>[] | Promise<Partial<DriveStatus>[]>
  hold?: Promise<void>
  /** Called when a request of S3 has arrived. */
  onRequest?: () => void
}

async function start(stage: Stage, config: Record<string, Record<string, unknown>> = {}): Promise<TestKernel> {
  const backend = definePlugin({
    name: 'staged-backend',
    setup({ contribute }) {
      const backend = { start: async () => {}, stop: async () => {}, drives: () => stage.drives() }
      contribute('storage.backend', 'staged', { validate: () => [], create: () => backend as never })
    },
  })
  const protocol = definePlugin({
    name: 's3',
    requires: ['http'],
    points: openPoints('s3.operation', 's3.observer'),
    setup({ contribute }) {
      contribute('http.mount', 's3', {
        listener: 's3',
        handler: async ({ response }) => {
          stage.onRequest?.()
          await stage.hold
          response.end()
        },
      })
    },
  })
  return startKernel({
    plugins: [iam, metrics, prometheus, tls, http, health, storage, backend, protocol],
    config: {
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      prometheus: { authType: 'public' },
      storage: { endpoints: ['/data'], backend: 'staged' },
      ...config,
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0', ...config.http },
    },
  })
}

const drive = (state: DriveStatus['state']): Partial<DriveStatus> => ({
  path: '/data',
  state,
  totalBytes: 100,
  freeBytes: 40,
  freeInodes: 9,
})

function basesOf(kernel: TestKernel): string[] {
  return kernel.services.http.listeners().map(({ port, secure }) => `${secure ? 'https' : 'http'}://127.0.0.1:${port}`)
}

async function probe(base: string, path: string): Promise<[number, unknown]> {
  const answer = await fetch(`${base}/svc/health/${path}`)
  return [answer.status, await answer.json()]
}

t.test('the three probes report the state of the drives', async t => {
  const stage: Stage = { drives: () => [drive('online')] }
  const kernel = await start(stage)
  const [base, console] = basesOf(kernel)
  for (const url of [base, console]) {
    t.same(await probe(url, 'live'), [200, { ok: true, status: 'live' }])
    t.same(await probe(url, 'ready'), [200, { ok: true, status: 'ready', checks: { storage: 'ok' } }])
    const cluster = { nodes: 1, nodesOnline: 1, drives: 1, drivesOnline: 1, writeQuorum: true, maintenance: false }
    t.same(await probe(url, 'cluster'), [200, { ok: true, status: 'ok', ...cluster }])
    for (const path of ['live', 'ready', 'cluster']) {
      const head = await fetch(`${url}/svc/health/${path}`, { method: 'HEAD' })
      t.equal(head.status, 200)
      t.equal(await head.text(), '')
      t.equal((await fetch(`${url}/svc/health/${path}`, { method: 'POST' })).status, 404)
    }
  }
  stage.drives = () => [{ ...drive('online'), metrics: { damagedBodies: 1 } }]
  t.match(await probe(base, 'ready'), [200, { ok: true, checks: { storage: 'stored data is damaged' } }])
  stage.drives = () => [drive('full')]
  t.match(await probe(base, 'ready'), [200, { ok: true }])
  t.match(await probe(base, 'cluster'), [503, { ok: false, status: 'degraded', drivesOnline: 1, writeQuorum: false }])
  stage.drives = () => [drive('faulty')]
  t.match(await probe(base, 'ready'), [
    503,
    { ok: false, status: 'unavailable', checks: { storage: '0 of 1 drives online' } },
  ])
  t.match(await probe(base, 'live'), [200, { ok: true }])
  stage.drives = () => [{ ...drive('faulty'), needsRestart: true }]
  t.same(await probe(base, 'live'), [503, { ok: false, status: 'restart needed' }])
  t.match(await probe(base, 'cluster'), [503, { writeQuorum: false }])
  stage.drives = () => Promise.reject(new Error('EIO on /secret/path'))
  t.match(await probe(base, 'live'), [200, { ok: true }], 'a storage that cannot tell is no reason for a restart')
  t.same(await probe(base, 'ready'), [503, { ok: false, status: 'unavailable', checks: { storage: 'failed' } }])
  t.match(await probe(base, 'cluster'), [503, { drives: 0, writeQuorum: false }])
  for (let i = 0; i < 5; i++) await Promise.all([probe(base, 'ready'), probe(base, 'cluster')])
  const told = kernel.logs.filter(line => JSON.stringify(line).includes('/secret/path'))
  t.strictSame(told.map(line => line.check).sort(), ['drives of storage', 'storage'], 'the reason is in the log, once')
  const scrape = await (await fetch(`${base}/svc/metrics/v1/node`)).text()
  t.match(scrape, /svc_node_uptime_seconds/, 'other families survive a storage that fails')
  stage.drives = () => [drive('online')]
  const text = await (await fetch(`${base}/svc/metrics/v1/node`)).text()
  for (const line of [
    'online{drive="/data",server="S"} 1',
    'used_bytes{drive="/data",server="S"} 60',
    'free_inodes{drive="/data",server="S"} 9',
  ]) {
    t.ok(text.replace(/server="[^"]+"/g, 'server="S"').includes(`svc_drive_${line}`), line)
  }
  await kernel.stop()
})

t.test('a check that does not answer is a failed check', async t => {
  const clock = createFakeClock()
  const { createProbes } = await import('../probes.ts')
  const probes = createProbes({
    kernel: { state: () => 'ready', degraded: () => [{ plugin: 'cache', error: 'secret' }] },
    checks: () => [
      { id: 'stuck', plugin: 'x', value: () => new Promise(() => {}) },
      { id: 'worn', plugin: 'x', value: () => ({ ok: true, detail: 'still works' }) },
    ],
    drives: () => [],
    ports: { clock } as never,
    log: { warn() {} } as never,
  })
  const ready = probes.ready()
  await clock.advance(2_000)
  t.same(await ready, {
    ok: false,
    status: 'unavailable',
    checks: { stuck: 'no answer', worn: 'still works', cache: 'degraded' },
  })
  t.match(await probes.cluster(), { ok: false, drives: 0, writeQuorum: false })
})

t.test('a node that drains is alive and not ready', async t => {
  let release: () => void = () => {}
  const hold = new Promise<void>(resolve => {
    release = resolve
  })
  let onRequest: () => void = () => {}
  const arrived = new Promise<void>(resolve => {
    onRequest = resolve
  })
  const kernel = await start({ drives: () => [drive('online')], hold, onRequest })
  const [base] = basesOf(kernel)
  const held = fetch(`${base}/b/k`)
  await arrived
  const drained = kernel.drain()
  t.match(await probe(base, 'ready'), [503, { ok: false, status: 'draining' }])
  t.match(await probe(base, 'cluster'), [503, { ok: false, nodesOnline: 0 }])
  t.match(await probe(base, 'live'), [200, { ok: true }])
  release()
  await (await held).text()
  t.same(await drained, [])
  await kernel.stop()
})

async function check(config: Partial<HealthConfig>, ...argv: string[]): Promise<{ code: number; text: string }> {
  let text = ''
  const stream = {
    write: (chunk: string) => {
      text += chunk
    },
  } as unknown as NodeJS.WritableStream
  const io: CliIo = { stdout: stream, stderr: stream, env: {} }
  const own = { address: ':9000', proxyProtocol: [], ...config } as HealthConfig
  return { code: await healthcheck.run(argv, io, { healthcheck: own }), text }
}

t.test('the command finds the server as it is configured', async t => {
  const stage: Stage = { drives: () => [drive('online')] }
  const plain = await start(stage)
  const portOf = (kernel: TestKernel): string =>
    `127.0.0.1:${kernel.services.http.listeners().find(({ name }) => name === 's3')?.port}`
  const address = portOf(plain)
  t.match(await check({ address }), { code: 0, text: /"status":"live"/ })
  t.match(await check({ address: address.replace('127.0.0.1', '') }, '--ready'), { code: 0, text: /"storage":"ok"/ })
  stage.drives = () => [drive('offline')]
  t.match(await check({ address: ':1' }, '--ready', '--address', address), { code: 1, text: /0 of 1 drives/ })
  t.match(await check({ address }), { code: 0 })
  await plain.stop()
  t.match(await check({ address }), { code: 1, text: /ECONNREFUSED/ })
  t.match(await check({ address: ':0' }), { code: 2 })
  t.match(await check({ address }, '--address', 'x'), { code: 2, text: /--address: "x" has no port/ })
  await t.rejects(check({ address }, '--nonsense'), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' })

  const certsDir = mkdtempSync(join(tmpdir(), 'svc-health-'))
  t.teardown(() => rmSync(certsDir, { recursive: true }))
  const files = ['-keyout', join(certsDir, 'private.key'), '-out', join(certsDir, 'public.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
  execFileSync('openssl', ['req', '-x509', '-nodes', '-days', '1', '-subj', '/CN=public.test', ...key, ...files], {
    stdio: 'ignore',
  })
  stage.drives = () => [drive('online')]
  const secure = await start(stage, {
    tls: { certsDir },
    http: { proxyProtocol: ['s3'], trustedProxies: ['127.0.0.1'] },
    health: { certsDir, proxyProtocol: ['s3'] },
  })
  const secureAddress = portOf(secure)
  t.match(await check({ address: secureAddress, certsDir, proxyProtocol: ['s3'] }, '--ready'), { code: 0 })
  t.match(await check({ address: secureAddress, proxyProtocol: ['s3'] }, '--certs-dir', certsDir), { code: 0 })
  t.match(await check({ address: secureAddress, proxyProtocol: ['s3'] }), { code: 1 })
  await secure.stop()
})
