/**
 * Everything that operators use at the same time, for a while: streams that come and go, spans whose collector comes and goes, limits,
 * a website that changes, targets that are there and one that is not, scrapes, queries, profiles, archives, speed tests. Memory that is
 * left after a collection of garbage, open files and streams must be as many in the end as in the beginning. A minute; ten with `TEST_LONG=1`, and `SOAK_SECONDS` for others:
 *
 *     SOAK_SECONDS=600 npx tap --disable-coverage test/wire/soak.test.ts
 */
import { readdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { signRequest } from 'svc/plugins/auth-sigv4/api'
import t from 'tap'
import { startHttpCollector } from '../../plugins/tracing/test/collector.ts'
import { memoryOf } from '../perf/machine.ts'
import { median } from '../perf/statistics.ts'
import { createAdminClient } from './admin.ts'
import { openInspector, withInspector } from './collected-memory.ts'
import { region, secretKey, startServer, workerCount } from './server.ts'
import { createSignedClient } from './signed-client.ts'
import { openStream, startReceivers } from './telling-places.ts'

const isLong = process.env.TEST_LONG !== undefined
const seconds = Number(process.env.SOAK_SECONDS ?? (isLong ? 600 : 20))
/** The audit ring, caches and compiled code are full then, or nearly. */
const warmUpSeconds = seconds >= 300 ? 240 : 15
/** So often each round has come in either part at least: on a machine that is busy, both last longer. */
const cyclesMin = 2
const laneCount = 4
const keyCount = 200
const MIB = 1024 * 1024
/** What JavaScript keeps: a hundred requests that are under way, and rings that still fill. */
const keptGrowthMax = { share: 0.05, bytes: 8 * MIB }
/** Of the process: what a short run cannot tell from caches that still fill, and from pages that an allocator keeps. */
const residentGrowthMax = seconds >= 300 ? { share: 0.1, bytes: 16 * MIB } : { share: 0.3, bytes: 48 * MIB }
/** Each reading collects garbage. */
const readingMs = 2000
/** Connections of clients that were just closed, and files of the journal that come and go. */
const fileGrowthMax = 12
const streamsMax = 256
const siteName = 'www.example.test'
const site = {
  id: 'soak',
  aliases: [siteName],
  origin: { bucket: 'soak-pages' },
  defaultBehavior: { indexDocument: 'index.html' },
}
t.setTimeout((seconds + warmUpSeconds) * 1000 + 240_000)

interface Reading {
  /** By JavaScript, on its heap and outside of it. */
  readonly keptBytes: number
  readonly residentBytes: number
  readonly files: number
}

t.test(`${seconds} s, ${workerCount} workers`, async t => {
  const receivers = await startReceivers(t)
  let isAway = false
  const collector = await startHttpCollector(t, {
    answer(_count, response) {
      if (isAway) response.writeHead(503).end()
      return isAway
    },
  })
  const server = await startServer({
    environment: {
      ...withInspector,
      SVC_OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      SVC_WEB_ADDRESS: '127.0.0.1:0',
      // The default of 64 MiB is full after ten minutes of these requests: until then nobody could tell it from a leak.
      SVC_DRIVE_CACHE_BYTES: '8MiB',
    },
  })
  t.teardown(() => server.remove())
  const admin = createAdminClient(server)
  const client = createSignedClient(server.port)
  t.teardown(() => client.disconnect())
  await client.send({ method: 'PUT', path: '/soak' })
  await setUp()
  const inspector = await openInspector(server)
  t.teardown(() => inspector.close())

  let isOver = false
  let requestCount = 0
  let roundCount = 0
  let visitCount = 0
  const failures: string[] = []
  const lane = async (number: number) => {
    for (let i = 0; !isOver; i++) {
      const path = `/soak/${number}-${i % keyCount}`
      const step = i % 5
      const method = step === 0 ? 'PUT' : step === 4 ? 'DELETE' : 'GET'
      const body = method === 'PUT' ? Buffer.alloc(i % 50 === 0 ? MIB : 4096, i) : undefined
      const { status } = await client.send({ method, path, body })
      if (status >= 300 && status !== 404 && failures.length < 10) failures.push(`${method} ${path}: ${status}`)
      requestCount++
    }
  }
  /** Each comes again and again, one after the other. */
  const rounds: readonly (() => Promise<unknown>)[] = [
    () => admin.call('GET', '/info'),
    () => admin.call('GET', '/audit?limit=100&errors=true'),
    () => admin.call('GET', '/metrics/query?name=svc_s3_requests_total&fn=rate&agg=sum'),
    () => Promise.all(['node', 'cluster', 'bucket'].map(scrape)),
    () => watchFor('/trace', 'errors=false'),
    () => watchFor('/logs', 'last=100'),
    () => download('/cluster/export'),
    () => download('/profile', 'type=cpu&seconds=1'),
    () => admin.call('POST', '/speedtest/drive', { size: 4 * MIB, durationSeconds: 1 }),
    visit,
    () => admin.call('PUT', '/distributions/soak', site),
    () => admin.call('POST', '/speedtest/object', { size: 4096, concurrency: 2, durationSeconds: 1 }),
    async () => {
      isAway = !isAway
    },
  ]
  const operate = async () => {
    for (let i = 0; !isOver; i++) {
      try {
        await rounds[i % rounds.length]!()
        roundCount++
      } catch (error) {
        if (failures.length < 10) failures.push((error as Error).message)
      }
    }
  }
  const work = [...Array.from({ length: laneCount }, (_, number) => lane(number)), operate()]
  const readings: Reading[] = []
  const inCourse: string[] = []
  let saidMs = 0
  /** Whether there is time or work left. */
  const lasts = (beganMs: number, lastsSeconds: number, roundsBefore: number) =>
    performance.now() < beganMs + lastsSeconds * 1000 || roundCount < roundsBefore + cyclesMin * rounds.length
  const startMs = performance.now()
  while (failures.length === 0 && lasts(startMs, warmUpSeconds, 0)) await sleep(500)
  const [warmMs, warmRounds] = [performance.now(), roundCount]
  while (failures.length === 0 && lasts(warmMs, seconds, warmRounds)) {
    const reading = await read()
    readings.push(reading)
    if (performance.now() - saidMs >= 10_000) {
      saidMs = performance.now()
      inCourse.push(`${inMib(reading.keptBytes)}/${inMib(reading.residentBytes)}/${reading.files}`)
    }
    await sleep(readingMs)
  }
  isOver = true
  await Promise.all(work)
  t.same(failures, [])
  t.ok(requestCount > 100, `${requestCount} requests`)

  const part = Math.floor(readings.length / 4)
  const first = middle(readings.slice(0, part))
  const last = middle(readings.slice(-part))
  t.comment(`${requestCount} requests, ${visitCount} visits`)
  t.comment(`MiB kept/MiB resident/files each 10 s: ${inCourse.join(' ')}`)
  t.ok(visitCount > 0, 'the website was visited')
  isFlat('kept memory', first.keptBytes, last.keptBytes, keptGrowthMax)
  isFlat('resident memory', first.residentBytes, last.residentBytes, residentGrowthMax)
  t.ok(last.files <= first.files + fileGrowthMax, `open files are flat: ${first.files} then ${last.files}`)
  t.notMatch(server.log(), /MaxListenersExceededWarning/, 'listeners are flat')
  await everyStreamIsFree()
  // A process that is looked into waits for the end of that before it ends.
  inspector.close()
  t.equal(await server.stop(), 0)

  function isFlat(name: string, first: number, last: number, max: { readonly share: number; readonly bytes: number }) {
    t.ok(last <= first * (1 + max.share) + max.bytes, `${name} is flat: ${inMib(first)} then ${inMib(last)} MiB`)
  }

  /** After a collection of garbage, and of the process without the pages of files on the drive that it maps. */
  async function read(): Promise<Reading> {
    const { heapBytes, externalBytes } = await inspector.collect()
    const { residentBytes, mappedBytes } = memoryOf(server.pid, server.folder)
    return {
      keptBytes: heapBytes + externalBytes,
      residentBytes: residentBytes - mappedBytes,
      files: readdirSync(`/proc/${server.pid}/fd`).length,
    }
  }

  async function setUp() {
    // Else the file of the log is most of what is written.
    await admin.call('PATCH', '/config/logger', { settings: { level: 'warn' } })
    const target = { enable: 'on', endpoint: receivers.auditUrl }
    await admin.call('PATCH', '/config/audit_webhook', { settings: target })
    await admin.call('PATCH', '/config/audit_webhook:away', {
      settings: { enable: 'on', endpoint: 'http://127.0.0.1:9/', queue_limit: '1000' },
    })
    await admin.call('PATCH', '/config/notify_webhook:hook', { settings: target })
    const { items } = await admin.call('GET', '/notify/targets')
    const subscriptions = [{ id: 'all', arn: items[0].arn, events: ['s3:ObjectCreated:*', 's3:ObjectRemoved:*'] }]
    await admin.call('PUT', '/buckets/soak/events', { subscriptions })
    const limits = Object.fromEntries(
      ['s3_ip', 's3_access_key', 's3_bucket', 'admin_ip', 'admin_user'].map(name => [name, '1000000']),
    )
    await admin.call('PATCH', '/config/ratelimit', { settings: limits })
    await admin.call('PATCH', '/config/api', { settings: { requests_max: '500' } })
    await client.send({ method: 'PUT', path: '/soak-pages' })
    await client.send({ method: 'PUT', path: '/soak-pages/index.html', body: Buffer.alloc(20_000, 'page ') })
    await admin.call('PUT', '/distributions/soak', site)
  }

  async function scrape(scope: string) {
    const { token } = await admin.call('POST', '/metrics/prometheus-token', {})
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${server.endpoint}/svc/metrics/v1/${scope}`, { headers })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`metrics of ${scope}: ${answer.status}`)
    return text
  }

  /** Pages, and paths that are not there, over connections of their own and over one that is kept. */
  async function visit() {
    const [host, port] = String(server.startup.web).split(':')
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    const get = (path: string, agent?: Agent) =>
      new Promise<number>((done, fail) => {
        const options = { host, port, path, agent: agent ?? false, headers: { host: siteName } }
        request(options, answer => answer.resume().on('end', () => done(answer.statusCode!)))
          .on('error', fail)
          .end()
      })
    for (let i = 0; i < 50; i++) {
      const isThere = i % 2 === 0
      const status = await get(isThere ? '/' : `/none-${i}`, i % 10 === 0 ? undefined : kept)
      if (status !== (isThere ? 200 : 404)) throw new Error(`website: ${status}`)
      visitCount++
    }
    kept.destroy()
  }

  /** Five at a time, some of which are left without a word. */
  async function watchFor(path: string, query: string) {
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(t, server, path, query)))
    await sleep(200)
    for (const { close } of streams) close()
  }

  async function download(path: string, query = '') {
    const host = String(server.startup.console)
    const target = `/api/v1${path}`
    const signer = { accessKey: 'wire-root', secret: secretKey, region }
    const { headers } = signRequest(signer, {
      method: 'GET',
      host,
      path: target,
      query,
      headers: {},
      nowMs: Date.now(),
    })
    const answer = await fetch(`http://${host}${target}?${query}`, { headers })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }

  /** Places of streams that were not given back would be missing here. */
  async function everyStreamIsFree() {
    // What was closed last is noticed a little later.
    await sleep(1000)
    const streams = await Promise.all(Array.from({ length: streamsMax }, () => openStream(t, server, '/trace')))
    await t.rejects(openStream(t, server, '/trace'), { message: '/trace: 429' })
    for (const { close } of streams) close()
  }
})

function middle(readings: readonly Reading[]): Reading {
  return {
    keptBytes: median(readings.map(({ keptBytes }) => keptBytes)),
    residentBytes: median(readings.map(({ residentBytes }) => residentBytes)),
    files: median(readings.map(({ files }) => files)),
  }
}

const inMib = (bytes: number): number => Math.round(bytes / MIB)
