/**
 * ListObjectsV2 with pages of 1000 entries in a bucket of ten thousand keys and one of a million: pages of keys (no delimiter)
 * and a page of 1000 common prefixes. The buckets are filled by parallel PUTs of empty objects through the front door.
 */
import { type Bench, measureRequests, planFor, ratios, type Sample, type Scenario, sendAll } from '../bench.ts'
import { createBucket, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import type { ServerTarget } from '../targets.ts'

const PAGE_SIZE = 1000
const CPU_GOAL_MS = 4
/** A page of a large bucket may cost this much of one of a small bucket and still count as flat. */
const FLATNESS_GOAL = 1.3
const FILL_BATCH_COUNT = 50_000
const FILL_TIME_MS_MAX = 120_000

type Shape = 'keys' | 'prefixes' | 'folder'
const SHAPES: readonly Shape[] = ['keys', 'prefixes', 'folder']
const SHAPE_NAMES = {
  keys: 'flat, 1000 keys',
  prefixes: 'delimiter, 1000 prefixes',
  folder: 'delimiter, inside one prefix',
}

export const list: Scenario = {
  name: 'list',
  summary: 'LIST pages of 1000 in buckets of 10 thousand and (not with --quick) 1 million keys',
  async run(bench) {
    const { server } = bench
    if (server === undefined) return bench.say('nothing to compare with: left out')
    const sizes = bench.isQuick ? [10_000, 100_000] : [10_000, 1_000_000]
    for (const keyCount of sizes) await fill(bench, server, keyCount)
    const roundCount = bench.isQuick ? 3 : 5
    for (const shape of SHAPES) {
      const samples: Sample[][] = sizes.map(() => [])
      for (let round = 0; round < roundCount; round++) {
        for (const [index, keyCount] of sizes.entries())
          samples[index].push(await measurePages(bench, server, keyCount, shape))
      }
      recordShape(bench, sizes, shape, samples)
    }
  },
}

function bucketOf(keyCount: number): string {
  return `bench-${keyCount}`
}

async function fill(bench: Bench, server: ServerTarget, keyCount: number): Promise<void> {
  const bucket = bucketOf(keyCount)
  await createBucket(server, bucket)
  let seconds = 0
  for (let first = 0; first < keyCount; first += FILL_BATCH_COUNT) {
    const targets = { bucket, first, count: Math.min(FILL_BATCH_COUNT, keyCount - first) }
    const plan = planFor(bench, server, { method: 'PUT', targets, connectionCount: 64 })
    seconds += (await sendAll(bench, plan, FILL_TIME_MS_MAX)).seconds
    bench.say(`filled ${first + targets.count} of ${keyCount} keys`)
  }
  const note = 'empty objects, 64 clients, with no pause between batches'
  bench.record({
    subject: 'server',
    name: `fill of ${keyCount} keys`,
    unit: 'requests/s',
    samples: [keyCount / seconds],
    note,
  })
}

async function measurePages(bench: Bench, server: ServerTarget, keyCount: number, shape: Shape): Promise<Sample> {
  const targets = pagesOf(bucketOf(keyCount), keyCount, shape)
  const expected = shape === 'folder' ? Math.min(PAGE_SIZE, keyCount / 1000) : PAGE_SIZE
  const { text } = await request(server, 'GET', targets[0])
  const found = text.split(shape === 'prefixes' ? '<CommonPrefixes>' : '<Contents>').length - 1
  if (found !== expected)
    throw new Error(`A page should have ${expected} entries but has ${found}: ${text.slice(0, 300)}`)
  await bench.load.prepare(planFor(bench, server, { method: 'GET', targets, connectionCount: 1 }))
  const limits = { requestCountMax: bench.isQuick ? 100 : 300, timeMsMax: 20_000 }
  await bench.load.run({ ...limits, requestCountMax: 10 })
  return measureRequests(bench, server, limits)
}

/** Pages from all over the bucket. Queries are sorted and encoded, as their signature wants them. */
function pagesOf(bucket: string, keyCount: number, shape: Shape): string[] {
  if (shape === 'prefixes') return [`/${bucket}?delimiter=%2F&list-type=2&max-keys=${PAGE_SIZE}`]
  const pages: string[] = []
  for (let page = 0; page < 50; page++) {
    // Far enough from the end that the page is full.
    const folder = String(Math.floor(page * 17) % 850).padStart(3, '0')
    if (shape === 'folder') {
      pages.push(`/${bucket}?delimiter=%2F&list-type=2&max-keys=${PAGE_SIZE}&prefix=dir-${folder}%2F`)
    } else {
      const key = targetOf(bucket, Number(folder)).slice(bucket.length + 2)
      pages.push(`/${bucket}?list-type=2&max-keys=${PAGE_SIZE}&start-after=${encodeURIComponent(key)}`)
    }
  }
  if (keyCount < 10_000) throw new Error('The pages are laid out for at least ten thousand keys.')
  return pages
}

function recordShape(
  bench: Bench,
  sizes: readonly number[],
  shape: Shape,
  samples: readonly (readonly Sample[])[],
): void {
  const name = SHAPE_NAMES[shape]
  const cpuMs = samples.map(rounds => rounds.map(sample => sample.CPU / 1000))
  // Inside one prefix the pages differ in size with the bucket, so neither the goal nor flatness applies.
  const hasGoal = shape !== 'folder'
  for (const [index, keyCount] of sizes.entries()) {
    const goal = hasGoal ? ({ relation: '<=', value: CPU_GOAL_MS } as const) : undefined
    bench.record({
      subject: 'server',
      name: `${name} of ${keyCount}: CPU`,
      unit: 'ms/page',
      samples: cpuMs[index],
      goal,
    })
    const latencies = samples[index].map(sample => sample.p50)
    bench.record({ subject: 'server', name: `${name} of ${keyCount}: p50`, unit: 'ms', samples: latencies })
  }
  if (!hasGoal) return
  bench.record({
    subject: `${sizes[1]} / ${sizes[0]} keys`,
    name: `${name}: CPU`,
    unit: 'ratio',
    samples: ratios(cpuMs[1], cpuMs[0]),
    goal: { relation: '<=', value: FLATNESS_GOAL },
  })
}
