/**
 * What events cost: durable PUT of 4 KiB in a bucket without rules, in one whose events go to a webhook, and in one whose webhook is down.
 * The CPU of the server has the delivery in it, as far as it happens while the load runs.
 */
import { createServer } from 'node:http'
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
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import type { ServerTarget } from '../targets.ts'

const SIZE_BYTES = 4096
const CONNECTION_COUNT = 64
const NONE = 'no rules'
const BUCKETS = { [NONE]: 'plain', 'live webhook': 'live', 'dead webhook': 'dead' } as const
type Kind = keyof typeof BUCKETS
const KINDS = Object.keys(BUCKETS) as Kind[]

export const events: Scenario = {
  name: 'events',
  summary: 'durable PUT of 4 KiB, 64 clients: without rules, events to a webhook, events to a webhook that is down',
  async run(bench) {
    const { server } = bench
    if (server === undefined) return
    const sink = await startSink()
    try {
      await prepare(server, sink.url)
      await contest(bench, server)
      bench.say(`${sink.count()} events were taken`)
      if (sink.count() === 0) throw new Error('The webhook was told nothing.')
    } finally {
      sink.close()
    }
  },
}

async function startSink() {
  let taken = 0
  const sink = createServer((incoming, answer) => {
    incoming.resume()
    incoming.on('end', () => {
      taken++
      answer.end()
    })
  })
  await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
  const { port } = sink.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    count: () => taken,
    close() {
      sink.closeAllConnections()
      sink.close()
    },
  }
}

async function prepare(server: ServerTarget, url: string): Promise<void> {
  const admin = (method: string, path: string, body: object) =>
    request({ ...server, port: server.consolePort }, method, `/api/v1${path}`, JSON.stringify(body), {
      'content-type': 'application/json',
    })
  const targets = { live: url, dead: 'http://127.0.0.1:9/' }
  for (const bucket of Object.values(BUCKETS)) await createBucket(server, bucket)
  for (const [id, endpoint] of Object.entries(targets)) {
    // A rule is taken only when its target takes a test event.
    const settings = { enable: 'on', queue_limit: '10000000', endpoint: url }
    await admin('PATCH', `/config/notify_webhook:${id}`, { settings })
    const subscription = { arn: `arn:svc:sqs:us-east-1:${id}:webhook`, events: ['s3:ObjectCreated:*'] }
    await admin('PUT', `/buckets/${id}/events`, { subscriptions: [subscription] })
    await admin('PATCH', `/config/notify_webhook:${id}`, { settings: { endpoint } })
  }
}

/** The kinds in turn, so that what else the machine does touches all alike. */
async function contest(bench: Bench, server: ServerTarget): Promise<void> {
  const samples = Object.fromEntries(KINDS.map(kind => [kind, [] as Sample[]])) as Record<Kind, Sample[]>
  const keyCount = bench.isQuick ? 40_000 : 80_000
  let next = 0
  for (let round = warmUp; round < (bench.isQuick ? 3 : 5); round++) {
    for (const kind of KINDS) {
      const targets = { bucket: BUCKETS[kind], first: next, count: keyCount }
      next += keyCount
      const plan = { method: 'PUT', targets, connectionCount: CONNECTION_COUNT, bodySizeBytes: SIZE_BYTES } as const
      await bench.load.prepare(planFor(bench, server, plan))
      const timeMsMax = round === warmUp ? warmUpMs : bench.isQuick ? 2000 : 4000
      const sample = await measureRequests(bench, server, { requestCountMax: 1_000_000, timeMsMax })
      await expectObject(server, targetOf(targets.bucket, targets.first), SIZE_BYTES)
      if (round !== warmUp) samples[kind].push(sample)
    }
  }
  recordRequests(bench, samples, '64 clients')
  for (const kind of KINDS.filter(kind => kind !== NONE)) {
    for (const quantity of ['rate', 'CPU']) {
      const compared = ratios(column(samples, kind, quantity), column(samples, NONE, quantity))
      bench.record({ subject: `${kind} / ${NONE}`, name: `64 clients: ${quantity}`, unit: 'ratio', samples: compared })
    }
  }
}
