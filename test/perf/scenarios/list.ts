/**
 * ListObjectsV2 and ListObjectVersions with pages of 1000 entries in a bucket of ten thousand keys and one of a million (or of as many as
 * `--keys` says): pages of keys (no delimiter) and a page of 1000 common prefixes. The buckets are filled by parallel PUTs of empty objects
 * through the front door. Then what so many keys cost when nobody lists them: memory, room on the drive, and starts.
 */
import { join } from 'node:path'
import { type Bench, measureRequests, planFor, ratios, type Sample, type Scenario, sendAll } from '../bench.ts'
import { createBucket, request } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { allocatedBytes, freeBytes, memoryOf, peakResidentBytes } from '../machine.ts'
import type { ServerTarget } from '../targets.ts'

const PAGE_SIZE = 1000
const CPU_GOAL_MS = 4
/** A page of a large bucket may cost this much of one of a small bucket and still count as flat. */
const FLATNESS_GOAL = 1.3
const FILL_BATCH_COUNT = 50_000
const FILL_TIME_MS_MAX = 120_000
const SMALL_KEY_COUNT = 10_000
/** Pages are taken from all over the bucket, and a page inside one of its thousand folders has to be known in size. */
const KEY_COUNT_STEP = 1000
/** On the drive, for a key of an empty object: its record, its entry in the index, and the room that both take while they move. */
const ROOM_PER_KEY_BYTES = 2048
const START_TIMEOUT_MS = 600_000

type Shape = 'keys' | 'versions' | 'prefixes' | 'folder'
const SHAPES: readonly Shape[] = ['keys', 'versions', 'prefixes', 'folder']
const SHAPE_NAMES = {
  keys: 'flat, 1000 keys',
  versions: 'flat, 1000 versions',
  prefixes: 'delimiter, 1000 prefixes',
  folder: 'delimiter, inside one prefix',
}

const ENTRY = {
  keys: '<Contents>',
  versions: '<Version>',
  prefixes: '<CommonPrefixes>',
  folder: '<Contents>',
} satisfies Record<Shape, string>

export const list: Scenario = {
  name: 'list',
  summary:
    'LIST pages of 1000 in buckets of 10 thousand and 1 million keys (--quick: 100 thousand; --keys); memory and starts',
  async run(bench) {
    const { server } = bench
    if (server === undefined) return bench.say('nothing to compare with: left out')
    const largeCount = bench.keyCount ?? (bench.isQuick ? 100_000 : 1_000_000)
    requireCount(bench, largeCount)
    const sizes = [SMALL_KEY_COUNT, largeCount]
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
    recordSize(bench, server, largeCount)
    await measureStarts(bench, server, largeCount)
  },
}

function requireCount(bench: Bench, keyCount: number): void {
  if (keyCount <= SMALL_KEY_COUNT || keyCount % KEY_COUNT_STEP !== 0) {
    throw new Error(`--keys takes a multiple of ${KEY_COUNT_STEP} above ${SMALL_KEY_COUNT} here.`)
  }
  const needed = keyCount * ROOM_PER_KEY_BYTES
  const free = freeBytes(bench.folder)
  if (free >= needed) return
  const [freeText, neededText] = [free, needed].map(bytes => `${(bytes / 1e9).toFixed(1)} GB`)
  throw new Error(
    `The disk has ${freeText} free, and ${keyCount} keys may need ${neededText}: another --drive or fewer --keys.`,
  )
}

function bucketOf(keyCount: number): string {
  return `bench-${keyCount}`
}

async function fill(bench: Bench, server: ServerTarget, keyCount: number): Promise<void> {
  const bucket = bucketOf(keyCount)
  await createBucket(server, bucket)
  let seconds = 0
  let last = 0
  for (let first = 0; first < keyCount; first += FILL_BATCH_COUNT) {
    const targets = { bucket, first, count: Math.min(FILL_BATCH_COUNT, keyCount - first) }
    const plan = planFor(bench, server, { method: 'PUT', targets, connectionCount: 64 })
    const batch = await sendAll(bench, plan, FILL_TIME_MS_MAX)
    seconds += batch.seconds
    last = batch.requestCount / batch.seconds
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
  bench.record({
    subject: 'server',
    name: `fill of ${keyCount} keys, last batch`,
    unit: 'requests/s',
    samples: [last],
    note: `at most ${FILL_BATCH_COUNT} keys`,
  })
}

async function measurePages(bench: Bench, server: ServerTarget, keyCount: number, shape: Shape): Promise<Sample> {
  const targets = pagesOf(bucketOf(keyCount), keyCount, shape)
  const expected = shape === 'folder' ? Math.min(PAGE_SIZE, keyCount / 1000) : PAGE_SIZE
  const { text } = await request(server, 'GET', targets[0])
  const found = text.split(ENTRY[shape]).length - 1
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
    } else if (shape === 'versions') {
      const key = encodeURIComponent(targetOf(bucket, Number(folder)).slice(bucket.length + 2))
      pages.push(`/${bucket}?key-marker=${key}&max-keys=${PAGE_SIZE}&versions=`)
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

/** What the keys take, at the end of all listings. */
function recordSize(bench: Bench, server: ServerTarget, keyCount: number): void {
  const [pid] = server.pids()
  const { residentBytes, mappedBytes } = memoryOf(pid, server.drive)
  const record = (name: string, unit: string, value: number): void =>
    bench.record({ subject: 'server', name: `${keyCount} keys: ${name}`, unit, samples: [value] })
  record('memory after the listings, without the mapped index', 'MB', (residentBytes - mappedBytes) / 1e6)
  record('mapped pages of the index', 'MB', mappedBytes / 1e6)
  record('peak of memory with everything (VmHWM)', 'MB', peakResidentBytes(pid) / 1e6)
  record('index on the drive', 'B/key', allocatedBytes(join(server.drive, 'index')) / keyCount)
  record('journal on the drive', 'B/key', allocatedBytes(join(server.drive, 'journal')) / keyCount)
}

/** Starts in turn: with an empty drive, with all keys after a stop, with all keys after the process was killed. */
async function measureStarts(bench: Bench, server: ServerTarget, keyCount: number): Promise<void> {
  const { drives, credentials } = server
  const target = pagesOf(bucketOf(keyCount), keyCount, 'keys')[0]
  const seconds = { empty: [] as number[], stopped: [] as number[], killed: [] as number[], page: [] as number[] }
  let memoryMb = 0
  await server.stop()
  const again = { folder: bench.folder, drives, credentials, isRestart: true, timeoutMs: START_TIMEOUT_MS }
  for (let round = 0; round < (bench.isQuick ? 2 : 3); round++) {
    bench.say(`starts, round ${round + 1}`)
    const empty = await timed(seconds.empty, () => bench.start({ folder: join(bench.folder, `empty-${round}`) }))
    await empty.stop()
    const stopped = await timed(seconds.stopped, () => bench.start(again))
    await timed(seconds.page, () => request(stopped, 'GET', target))
    const [pid] = stopped.pids()
    const { residentBytes, mappedBytes } = memoryOf(pid, stopped.drive)
    memoryMb = (residentBytes - mappedBytes) / 1e6
    // Something has to be in the journal that is not in the index.
    await request(stopped, 'PUT', targetOf(bucketOf(keyCount), 0))
    process.kill(pid, 'SIGKILL')
    await stopped.stop()
    const killed = await timed(seconds.killed, () => bench.start(again))
    await killed.stop()
  }
  const record = (name: string, samples: readonly number[]): void =>
    bench.record({ subject: 'server', name: `start, ${name}`, unit: 's', samples })
  record('an empty drive', seconds.empty)
  record(`${keyCount} keys, after a stop`, seconds.stopped)
  record(`${keyCount} keys, after the process was killed`, seconds.killed)
  record(`${keyCount} keys, first page`, seconds.page)
  bench.record({
    subject: `${keyCount} keys / an empty drive`,
    name: 'start',
    unit: 'ratio',
    samples: ratios(seconds.stopped, seconds.empty),
  })
  bench.record({
    subject: 'server',
    name: `${keyCount} keys: memory after a start, without the mapped index`,
    unit: 'MB',
    samples: [memoryMb],
  })
}

async function timed<T>(seconds: number[], work: () => Promise<T>): Promise<T> {
  const began = performance.now()
  const result = await work()
  seconds.push((performance.now() - began) / 1000)
  return result
}
