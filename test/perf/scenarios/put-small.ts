/** Durable PUT of 4 KiB with 64 clients and with one, against a file-per-object writer and the drive itself. */
import {
  alternate,
  type Bench,
  column,
  measureRequests,
  planFor,
  ratios,
  recordRequests,
  type Samples,
  type Scenario,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { measureDurableWrite } from '../raw.ts'
import { median } from '../statistics.ts'
import { startFileWriter, type Target } from '../targets.ts'

const SIZE_BYTES = 4096
const BUCKET = 'bench'
const CPU_GOAL_MICROS = 65
const RATE_RATIO_GOAL = 2.4
/** One client may take 1.5 times the drive's own latency and 0.15 ms. */
const LATENCY_FACTOR = 1.5
const LATENCY_ALLOWANCE_MS = 0.15

export const putSmall: Scenario = {
  name: 'put-small',
  summary: 'durable PUT of 4 KiB, 64 clients and 1, against a file-per-object writer and raw fdatasync',
  async run(bench) {
    if (bench.server !== undefined) await createBucket(bench.server, BUCKET)
    const writer = await startFileWriter(bench.folder, bench.workers, false)
    const syncedWriter = await startFileWriter(bench.folder, bench.workers, true)
    const contestants = [bench.server, writer, syncedWriter].filter(target => target !== undefined)
    try {
      bench.say('64 clients')
      await measureMany(bench, contestants)
      bench.say('one client')
      await measureOne(bench, contestants)
    } finally {
      await writer.stop()
      await syncedWriter.stop()
    }
  },
}

async function measureMany(bench: Bench, contestants: readonly Target[]): Promise<void> {
  const put = createPutter(bench, 64, bench.isQuick ? 2000 : 4000, bench.isQuick ? 40_000 : 80_000)
  const samples = await alternate(bench.isQuick ? 3 : 5, contestants, put)
  recordRequests(bench, samples, '64 clients', CPU_GOAL_MICROS)
  for (const baseline of Object.keys(samples).filter(name => name !== 'server')) {
    recordRatio(bench, samples, '64 clients', baseline, baseline === 'file writer')
  }
}

async function measureOne(bench: Bench, contestants: readonly Target[]): Promise<void> {
  const timeMs = bench.isQuick ? 1500 : 3000
  const put = createPutter(bench, 1, timeMs, 20_000)
  const rawMs: number[] = []
  const samples = await alternate(bench.isQuick ? 3 : 5, contestants, async (target, round) => {
    if (target === contestants[0]) {
      const { p50Ms } = measureDurableWrite(bench.folder, 1000, timeMs)
      if (round !== warmUp) rawMs.push(p50Ms)
    }
    return put(target, round)
  })
  recordRequests(bench, samples, '1 client')
  bench.record({ subject: 'drive', name: 'write 4 KiB + fdatasync: p50', unit: 'ms', samples: rawMs })
  if (samples.server === undefined) return
  bench.record({
    subject: 'server',
    name: '1 client: p50 against the drive',
    unit: 'ms',
    samples: column(samples, 'server', 'p50'),
    goal: { relation: '<=', value: LATENCY_FACTOR * median(rawMs) + LATENCY_ALLOWANCE_MS },
    note: `goal = ${LATENCY_FACTOR} × drive + ${LATENCY_ALLOWANCE_MS} ms`,
  })
}

/** Each round of a contestant writes new keys; within a round keys repeat only when it is faster than `keyCount` allows. */
function createPutter(bench: Bench, connectionCount: number, timeMsMax: number, keyCount: number) {
  const next = new Map<string, number>()
  return async (target: Target, round: number) => {
    const first = next.get(target.name) ?? connectionCount * 10_000_000
    next.set(target.name, first + keyCount)
    const targets = { bucket: BUCKET, first, count: keyCount }
    await bench.load.prepare(
      planFor(bench, target, { method: 'PUT', targets, connectionCount, bodySizeBytes: SIZE_BYTES }),
    )
    const sample = await measureRequests(bench, target, {
      requestCountMax: 1_000_000,
      timeMsMax: round === warmUp && connectionCount > 1 ? warmUpMs : timeMsMax,
    })
    if (target === bench.server) await expectObject(bench.server, targetOf(BUCKET, first), SIZE_BYTES)
    return sample
  }
}

function recordRatio(bench: Bench, samples: Samples, label: string, baseline: string, hasGoal: boolean): void {
  if (samples.server === undefined) return
  bench.record({
    subject: `server / ${baseline}`,
    name: `${label}: rate`,
    unit: 'ratio',
    samples: ratios(column(samples, 'server', 'rate'), column(samples, baseline, 'rate')),
    goal: hasGoal ? { relation: '>=', value: RATE_RATIO_GOAL } : undefined,
  })
  bench.record({
    subject: `${baseline} / server`,
    name: `${label}: CPU`,
    unit: 'ratio',
    samples: ratios(column(samples, baseline, 'CPU'), column(samples, 'server', 'CPU')),
  })
}
