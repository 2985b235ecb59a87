/**
 * What it costs to be watched: GET of 4 KiB while nobody listens, while somebody reads a stream of the Admin API or only opens it, and
 * with traces, taken by a collector, sampled out, and with a collector that is away. The first server is measured twice, once under another
 * name: what the two differ by is chance.
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
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { createSigner } from '../signature.ts'
import type { ServerTarget } from '../targets.ts'

const SIZE_BYTES = 4096
const OBJECT_COUNT = 256
const CONNECTION_COUNT = 64
const BUCKET = 'bench'
const RANGE = { bucket: BUCKET, first: 0, count: OBJECT_COUNT }
/** SHA-256 of nothing. */
const EMPTY_HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const NONE = 'nobody'

interface Contestant {
  readonly name: string
  readonly server: ServerTarget
  /** Begins to watch; resolves with its end. */
  watch?(): Promise<() => void>
}

export const watched: Scenario = {
  name: 'watched',
  summary: 'GET of 4 KiB, 64 clients: nobody listens, streams that are read and that are not, traces on and off',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return
    const collector = await startCollector()
    try {
      const contestants = await startContestants(bench, collector.url)
      for (const server of new Set(contestants.map(({ server }) => server))) await fill(bench, server)
      await contest(bench, contestants)
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
    { name: NONE, server: plain },
    { name: 'nobody, again', server: plain },
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

async function fill(bench: Bench, server: ServerTarget): Promise<void> {
  await createBucket(server, BUCKET)
  const plan = { method: 'PUT', targets: RANGE, bodySizeBytes: SIZE_BYTES, connectionCount: 16 } as const
  await sendAll(bench, planFor(bench, server, plan), 30_000)
  await expectObject(server, targetOf(BUCKET, OBJECT_COUNT - 1), SIZE_BYTES)
}

/** In turn, so that what else the machine does touches all alike. */
async function contest(bench: Bench, contestants: readonly Contestant[]): Promise<void> {
  const samples: Record<string, Sample[]> = Object.fromEntries(contestants.map(({ name }) => [name, []]))
  const warm = new Set<ServerTarget>()
  for (let round = warmUp; round < (bench.isQuick ? 5 : 9); round++) {
    for (const { name, server, watch } of contestants) {
      const plan = planFor(bench, server, { method: 'GET', targets: RANGE, connectionCount: CONNECTION_COUNT })
      await bench.load.prepare(plan)
      const timeMsMax = round === warmUp && !warm.has(server) ? warmUpMs : bench.isQuick ? 1500 : 3000
      warm.add(server)
      const end = await watch?.()
      const sample = await measureRequests(bench, server, { requestCountMax: 2_000_000, timeMsMax })
      end?.()
      if (round !== warmUp) samples[name]!.push(sample)
    }
  }
  recordRequests(bench, samples, '64 clients')
  for (const { name } of contestants.slice(1)) {
    for (const quantity of ['CPU', 'rate']) {
      const compared = ratios(column(samples, name, quantity), column(samples, NONE, quantity))
      bench.record({ subject: `${name} / ${NONE}`, name: `64 clients: ${quantity}`, unit: 'ratio', samples: compared })
    }
  }
}
