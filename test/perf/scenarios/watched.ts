/**
 * What it costs to be watched and limited: GET of 4 KiB while nobody listens, while somebody reads a stream of the Admin API or only opens
 * it, with all limits on requests, and with traces, taken by a collector, sampled out, and with a collector that is away. CPU of as many
 * requests each time, compared with the requests just before and just after of the server that nobody watches: that holds on a machine
 * that does other things, too, where rates do not. Nobody is also compared with nobody: what that differs by is chance.
 */
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type Bench,
  column,
  measureRequests,
  planFor,
  ratios,
  recordRequests,
  type Sample,
  type Scenario,
  sendAll,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { createSigner } from '../signature.ts'
import type { ServerTarget } from '../targets.ts'

const SIZE_BYTES = 4096
const OBJECT_COUNT = 256
export const CONNECTION_COUNT = 64
const BUCKET = 'bench'
export const RANGE = { bucket: BUCKET, first: 0, count: OBJECT_COUNT }
/** SHA-256 of nothing. */
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const NONE = 'nobody'
/** Of each measurement: CPU is told in ticks of 10 ms, which is then below a hundredth. */
const REQUEST_COUNT = 20_000
const REQUEST_COUNT_QUICK = 8000
/** On a machine that does much else. */
const TIME_MS_MAX = 120_000
/** None of them is ever reached. */
const LIMITS = Object.fromEntries(
  ['s3_ip', 's3_access_key', 's3_bucket', 'admin_ip', 'admin_user'].map(name => [name, '1000000']),
)

interface Contestant {
  readonly name: string
  readonly server: ServerTarget
  /** Begins to watch; resolves with its end. */
  watch?(): Promise<() => void | Promise<void>>
}

export const watched: Scenario = {
  name: 'watched',
  summary:
    'GET of 4 KiB, 64 clients: CPU with limits, with streams that are read and that are not, with traces, against without',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return
    const collector = await startCollector()
    try {
      const contestants = await startContestants(bench, collector.url)
      for (const server of new Set(contestants.map(({ server }) => server))) await fill(bench, server)
      await contest(bench, contestants[0]!.server, contestants)
      bench.say(`the collector took ${collector.requests()} requests with ${collector.bytes()} bytes`)
      if (collector.requests() === 0) throw new Error('The collector was told nothing.')
    } finally {
      collector.close()
    }
  },
}

async function startContestants(bench: Bench, url: string): Promise<Contestant[]> {
  const start = (name: string, environment: Readonly<Record<string, string>> = {}) =>
    bench.start({ name, folder: `${bench.folder}/${name}`, environment })
  const plain = await start('plain')
  const traced = (endpoint: string, ratio: string) => ({
    SVC_OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    SVC_OTEL_TRACES_SAMPLER_ARG: ratio,
  })
  return [
    { name: 'nobody, again', server: plain },
    { name: 'all limits', server: plain, watch: () => limit(plain) },
    { name: 'trace', server: plain, watch: () => listen(plain, '/api/v1/trace', true) },
    { name: 'trace, not read', server: plain, watch: () => listen(plain, '/api/v1/trace', false) },
    { name: 'trace, errors only', server: plain, watch: () => listen(plain, '/api/v1/trace?errors=true', true) },
    { name: 'logs', server: plain, watch: () => listen(plain, '/api/v1/logs', true) },
    { name: 'spans', server: await start('spans', traced(url, '1')) },
    { name: 'spans, sampled out', server: await start('sampled-out', traced(url, '0')) },
    { name: 'spans, collector away', server: await start('away', traced('http://127.0.0.1:9', '1')) },
  ]
}

/** A collector that takes everything; it only counts. */
async function startCollector() {
  let requests = 0
  let bytes = 0
  const collector = createServer((incoming, answer) => {
    incoming.on('data', chunk => {
      bytes += chunk.length
    })
    incoming.on('end', () => {
      requests++
      answer.end()
    })
  })
  await new Promise<void>(done => collector.listen(0, '127.0.0.1', done))
  const { port } = collector.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    bytes: () => bytes,
    close() {
      collector.closeAllConnections()
      collector.close()
    },
  }
}

/** Opens a stream of events. One that is not read stands still as soon as its buffers are full. */
function listen({ host, consolePort: port, credentials }: ServerTarget, target: string, isRead: boolean) {
  const lines = createSigner(credentials, `${host}:${port}`).headers('GET', target, EMPTY_HASH).trimEnd().split('\r\n')
  const headers = Object.fromEntries(lines.map(line => line.split(': ') as [string, string]))
  return new Promise<() => void>((resolve, reject) => {
    const sent = get({ host, port, path: target, headers, agent: false }, answer => {
      if (answer.statusCode !== 200) return reject(new Error(`${target} was answered ${answer.statusCode}.`))
      answer.on('error', () => {})
      if (isRead) answer.resume()
      resolve(() => sent.destroy())
    })
    sent.on('error', reject)
  })
}

/** Sets all limits on requests, so high that none refuses; the end takes them away. */
export async function limit(server: ServerTarget): Promise<() => Promise<void>> {
  const set = async (method: string, target: string, body?: unknown) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = { 'content-type': 'application/json' }
    await request({ ...server, port: server.consolePort }, method, target, text, headers)
  }
  await set('PATCH', '/api/v1/config/ratelimit', { settings: LIMITS })
  await set('PATCH', '/api/v1/config/api', { settings: { requests_max: '1000' } })
  return async () => {
    const none = Object.fromEntries(Object.keys(LIMITS).map(name => [name, '0']))
    await set('PATCH', '/api/v1/config/ratelimit', { settings: none })
    await set('PATCH', '/api/v1/config/api', { settings: { requests_max: '0' } })
  }
}

/** The objects of `RANGE`. */
export async function fill(bench: Bench, server: ServerTarget): Promise<void> {
  await createBucket(server, BUCKET)
  const plan = { method: 'PUT', targets: RANGE, bodySizeBytes: SIZE_BYTES, connectionCount: 16 } as const
  await sendAll(bench, planFor(bench, server, plan), 30_000)
  await expectObject(server, targetOf(BUCKET, OBJECT_COUNT - 1), SIZE_BYTES)
}

/** Each between two measurements of the server that nobody watches, so that what else the machine does touches both alike. */
async function contest(bench: Bench, plain: ServerTarget, contestants: readonly Contestant[]): Promise<void> {
  const nobody: Contestant = { name: NONE, server: plain }
  const samples: Record<string, Sample[]> = Object.fromEntries([nobody, ...contestants].map(({ name }) => [name, []]))
  const beside: Record<string, number[]> = Object.fromEntries(contestants.map(({ name }) => [name, []]))
  const requestCountMax = bench.isQuick ? REQUEST_COUNT_QUICK : REQUEST_COUNT
  const measure = async ({ server, watch }: Contestant, timeMsMax = TIME_MS_MAX) => {
    const plan = planFor(bench, server, { method: 'GET', targets: RANGE, connectionCount: CONNECTION_COUNT })
    await bench.load.prepare(plan)
    const end = await watch?.()
    const sample = await measureRequests(bench, server, { requestCountMax, timeMsMax })
    await end?.()
    return sample
  }
  for (const server of new Set(contestants.map(one => one.server))) await measure({ name: NONE, server }, warmUpMs)
  for (let round = 0; round < (bench.isQuick ? 5 : 9); round++) {
    let before = await measure(nobody)
    samples[NONE]!.push(before)
    for (const contestant of contestants) {
      samples[contestant.name]!.push(await measure(contestant))
      const after = await measure(nobody)
      samples[NONE]!.push(after)
      beside[contestant.name]!.push((before.CPU! + after.CPU!) / 2)
      before = after
    }
  }
  recordRequests(bench, samples, '64 clients')
  for (const { name } of contestants) {
    const own = column(samples, name, 'CPU')
    const subject = `${name} / ${NONE}`
    bench.record({ subject, name: '64 clients: CPU', unit: 'ratio', samples: ratios(own, beside[name]!) })
    const more = own.map((cpu, index) => cpu - beside[name]![index]!)
    bench.record({ subject, name: '64 clients: CPU more', unit: 'µs/request', samples: more })
  }
}
