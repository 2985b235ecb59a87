/**
 * What a rebuild costs those who read and write meanwhile: latency of GET and PUT of 4 KiB with 8 clients while a drive of 4+2 that
 * was replaced is filled, against the same server afterwards. Once while it is given shards of many small objects, once of large ones.
 */
import { type Bench, measureRequests, planFor, ratios, type Sample, type Scenario, sendAll } from '../bench.ts'
import { removeFolder } from '../processes.ts'
import { BUCKET, fillSet, restartWithEmptyDrive, SHAPE, type Stock, stocksOf, waitUntilWhole } from '../replacement.ts'
import { nameOf, readRedundancy } from '../sets.ts'
import { median } from '../statistics.ts'
import type { ServerTarget } from '../targets.ts'

const SIZE_BYTES = 4096
const CONNECTION_COUNT = 8
/** What is asked for lies behind what is rebuilt: keys that are read are healed late, if ever while it is measured. */
const FIRST = 500_000_000
const OBJECT_COUNT = 2000
const WARM_UP_MS = 1000
const METHODS = ['GET', 'PUT'] as const
const DURING = 'while a drive is filled'
const AFTERWARDS = 'afterwards'

type Rounds = Record<(typeof METHODS)[number], Sample[]>

export const rebuildLatency: Scenario = {
  name: 'rebuild-latency',
  summary: 'p50 and p99 of GET and PUT of 4 KiB while a replaced drive of 4+2 is filled, against afterwards',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return bench.say('nothing to compare with: left out')
    for (const [index, stock] of stocksOf(bench).entries()) await measure(bench, stock, `stock-${index}`)
  },
}

async function measure(bench: Bench, stock: Stock, name: string): Promise<void> {
  const targets = { bucket: BUCKET, first: FIRST, count: OBJECT_COUNT }
  const set = await fillSet(bench, name, stock, async server => {
    const plan = { method: 'PUT', targets, connectionCount: 64, bodySizeBytes: SIZE_BYTES } as const
    await sendAll(bench, planFor(bench, server, plan), 60_000)
  })
  const server = await restartWithEmptyDrive(bench, set)
  const roundMs = bench.isQuick ? 500 : 2000
  const roundCountMax = bench.isQuick ? 4 : 10
  for (const method of METHODS) await sample(bench, server, method, WARM_UP_MS)
  const during: Rounds = { GET: [], PUT: [] }
  for (let round = 0; round < roundCountMax; round++) {
    const latencies = await sampleAll(bench, server, roundMs)
    // What ended meanwhile is no rebuild: only whole rounds count.
    if ((await readRedundancy(server)).below === 0) break
    for (const method of METHODS) during[method].push(latencies[method])
  }
  const roundCount = during.GET.length
  if (roundCount === 0) {
    throw new Error(
      `The rebuild of ${stock.label} ended before a round of the load did: choose more (--keys, --bytes).`,
    )
  }
  bench.say(`${roundCount} rounds while the drive is filled`)
  await waitUntilWhole(bench, server)
  const afterwards: Rounds = { GET: [], PUT: [] }
  for (let round = 0; round < roundCount; round++) {
    const latencies = await sampleAll(bench, server, roundMs)
    for (const method of METHODS) afterwards[method].push(latencies[method])
  }
  await server.stop()
  removeFolder(set.folder)
  record(bench, stock, during, afterwards)
}

async function sampleAll(bench: Bench, server: ServerTarget, timeMs: number): Promise<Record<keyof Rounds, Sample>> {
  const GET = await sample(bench, server, 'GET', timeMs)
  return { GET, PUT: await sample(bench, server, 'PUT', timeMs) }
}

async function sample(bench: Bench, server: ServerTarget, method: keyof Rounds, timeMs: number): Promise<Sample> {
  const targets = { bucket: BUCKET, first: FIRST, count: OBJECT_COUNT }
  const bodySizeBytes = method === 'PUT' ? SIZE_BYTES : 0
  await bench.load.prepare(
    planFor(bench, server, { method, targets, connectionCount: CONNECTION_COUNT, bodySizeBytes }),
  )
  return measureRequests(bench, server, { requestCountMax: 1_000_000, timeMsMax: timeMs })
}

function record(bench: Bench, { label }: Stock, during: Rounds, afterwards: Rounds): void {
  const subject = nameOf(SHAPE)
  for (const method of METHODS) {
    for (const [quantity, unit] of [
      ['rate', 'requests/s'],
      ['p50', 'ms'],
      ['p99', 'ms'],
    ] as const) {
      const [busy, quiet] = [during, afterwards].map(rounds => rounds[method].map(one => one[quantity]))
      const name = `${method} 4 KiB, ${label}: ${quantity}`
      bench.record({ subject: `${subject}, ${DURING}`, name, unit, samples: busy })
      bench.record({ subject: `${subject}, ${AFTERWARDS}`, name, unit, samples: quiet })
      // The rounds of the two are not neighbours in time: the median of one against each of the other.
      const compared = ratios(
        busy,
        busy.map(() => median(quiet)),
      )
      bench.record({ subject: `${DURING} / ${AFTERWARDS}`, name, unit: 'ratio', samples: compared })
    }
  }
}
