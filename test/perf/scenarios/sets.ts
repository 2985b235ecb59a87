/**
 * PUT and GET of 4 KiB, 1 MiB and 1 GiB on sets of 6 and 16 drives against a single drive, and GET with as many drives away as there is
 * parity. All drives are folders of one disk.
 */
import { join } from 'node:path'
import {
  alternate,
  type Bench,
  column,
  measureCpu,
  planFor,
  ratios,
  type Samples,
  type Scenario,
  sendAll,
  warmUp,
  warmUpMs,
} from '../bench.ts'
import { createBucket, expectObject } from '../control.ts'
import { targetOf } from '../load-plan.ts'
import { freeBytes } from '../machine.ts'
import type { FigureInput } from '../report.ts'
import { nameOf, restartSet, type SetShape, startSet, takeAway } from '../sets.ts'
import type { ServerTarget } from '../targets.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
const BUCKET = 'bench'
const SINGLE = 'single drive'
const SHAPES: readonly SetShape[] = [
  { dataCount: 4, parityCount: 2 },
  { dataCount: 12, parityCount: 4 },
]
/** Of a large PUT on 4+2, against a single drive. */
const CPU_RATIO_GOAL = 1.35
/** Keys of a round of small PUTs: they repeat only when it is faster than that. */
const SMALL_PUT_COUNT = 40_000
const FIRST_SMALL_PUT = 500_000_000
/** Of what all contestants store, for what was replaced and not collected yet. */
const ROOM_FACTOR = 4
const TIME_MS_MAX = 240_000

interface Size {
  readonly label: string
  readonly bytes: number
  readonly connectionCount: number
  /** Objects that are read in turn. */
  readonly objectCount: number
  /**
   * Of a round that writes, and of one that reads: CPU is counted in ticks of 10 ms, so a round has to be long enough. For small ones their
   * time is given; for larger ones how many they are, so that how much is written does not depend on the speed.
   */
  readonly putCount: number
  readonly getCount: number
}

function sizesOf(isQuick: boolean): readonly Size[] {
  const middle = isQuick ? 64 : 256
  const largeBytes = isQuick ? 128 * MIB : GIB
  return [
    {
      label: '4 KiB',
      bytes: 4096,
      connectionCount: 64,
      objectCount: 1000,
      putCount: SMALL_PUT_COUNT,
      getCount: 1_000_000,
    },
    { label: '1 MiB', bytes: MIB, connectionCount: 8, objectCount: middle, putCount: middle, getCount: 8 * middle },
    { label: labelOf(largeBytes), bytes: largeBytes, connectionCount: 1, objectCount: 1, putCount: 1, getCount: 4 },
  ]
}

function labelOf(bytes: number): string {
  return bytes < GIB ? `${bytes / MIB} MiB` : `${bytes / GIB} GiB`
}

export const sets: Scenario = {
  name: 'sets',
  summary:
    'PUT and GET of 4 KiB, 1 MiB, 1 GiB (128 MiB with --quick) on 4+2 and 12+4 against a single drive; GET degraded',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return bench.say('nothing to compare with: left out')
    const sizes = sizesOf(bench.isQuick)
    requireRoom(bench, sizes)
    const single = await bench.start({ folder: join(bench.folder, 'single'), name: SINGLE })
    const started: ServerTarget[] = []
    for (const shape of SHAPES) started.push(await startSet(bench, folderOf(bench, shape), shape))
    for (const server of [single, ...started]) await createBucket(server, BUCKET)
    for (const size of sizes) await contest(bench, 'PUT', size, [single, ...started])
    for (const size of sizes) {
      for (const server of [single, ...started]) await fill(bench, size, server)
      await contest(bench, 'GET', size, [single, ...started])
    }

    const degraded: ServerTarget[] = []
    for (const [index, shape] of SHAPES.entries()) {
      const whole = started[index]
      await whole.stop()
      for (const drive of whole.drives.slice(0, shape.parityCount)) takeAway(drive)
      const name = `${nameOf(shape)}, ${shape.parityCount} away`
      degraded.push(await restartSet(bench, folderOf(bench, shape), shape, whole, name))
    }
    for (const size of sizes) await contest(bench, 'GET', size, [single, ...degraded])
  },
}

function folderOf(bench: Bench, shape: SetShape): string {
  return join(bench.folder, nameOf(shape))
}

function requireRoom(bench: Bench, sizes: readonly Size[]): void {
  let stored = 0
  for (const { bytes, objectCount } of sizes) stored += bytes * objectCount
  let factor = 1
  for (const { dataCount, parityCount } of SHAPES) factor += (dataCount + parityCount) / dataCount
  const needed = stored * factor * ROOM_FACTOR
  const free = freeBytes(bench.folder)
  if (free >= needed) return
  const [freeText, neededText] = [free, needed].map(bytes => `${(bytes / GIB).toFixed(1)} GiB`)
  throw new Error(
    `The disk has ${freeText} free, and ${neededText} are needed. Name a folder on another one (--drive).`,
  )
}

async function contest(
  bench: Bench,
  method: 'GET' | 'PUT',
  size: Size,
  servers: readonly ServerTarget[],
): Promise<void> {
  const label = `${method} ${size.label}`
  bench.say(`${label}: ${servers.map(({ name }) => name).join(' against ')}`)
  const samples = await alternate(bench.isQuick ? 3 : 5, servers, (target, round) =>
    measure(bench, method, size, target as ServerTarget, round),
  )
  record(bench, label, size, samples, method === 'PUT' && size.objectCount === 1)
}

async function fill(bench: Bench, { bytes, objectCount, connectionCount }: Size, server: ServerTarget): Promise<void> {
  const targets = { bucket: BUCKET, first: bytes, count: objectCount }
  await sendAll(
    bench,
    planFor(bench, server, { method: 'PUT', targets, connectionCount, bodySizeBytes: bytes }),
    TIME_MS_MAX,
  )
  await expectObject(server, targetOf(BUCKET, bytes), bytes)
}

async function measure(bench: Bench, method: 'GET' | 'PUT', size: Size, server: ServerTarget, round: number) {
  const { bytes, objectCount, connectionCount } = size
  const isSmall = bytes < MIB
  // Keys of their own for each size, and for small ones new keys in each round.
  const targets =
    method === 'PUT' && isSmall
      ? { bucket: BUCKET, first: FIRST_SMALL_PUT + (round - warmUp) * SMALL_PUT_COUNT, count: SMALL_PUT_COUNT }
      : { bucket: BUCKET, first: bytes, count: objectCount }
  const bodySizeBytes = method === 'PUT' ? bytes : 0
  const receiveBufferBytes = Math.max(65_536, Math.min(bytes, MIB))
  await bench.load.prepare(
    planFor(bench, server, { method, targets, connectionCount, bodySizeBytes, receiveBufferBytes }),
  )
  const count = method === 'PUT' ? size.putCount : size.getCount
  const smallMs = round === warmUp ? warmUpMs : bench.isQuick ? 2000 : 4000
  const limits = { requestCountMax: isSmall ? 1_000_000 : count, timeMsMax: isSmall ? smallMs : TIME_MS_MAX }
  const { result, cpu } = await measureCpu(server, () => bench.load.run(limits))
  const done = result.requestCount
  if (!isSmall && done !== count) throw new Error(`Only ${done} of ${count} requests were answered in time.`)
  if (method === 'PUT') await expectObject(server, targetOf(BUCKET, targets.first), bytes)
  else if (result.receivedBodyBytes !== done * bytes) throw new Error('A body was cut short.')
  return {
    rate: (isSmall ? done : (done * bytes) / 1e6) / result.seconds,
    CPU: (cpu * (isSmall ? 1e6 : 1e3)) / done,
    p50: result.p50Ms,
    p99: result.p99Ms,
  }
}

function record(bench: Bench, label: string, size: Size, samples: Samples, hasGoal: boolean): void {
  const units: Readonly<Record<string, string>> =
    size.bytes < MIB
      ? { rate: 'requests/s', CPU: 'µs/request', p50: 'ms', p99: 'ms' }
      : { rate: 'MB/s', CPU: 'ms/request', p50: 'ms' }
  for (const subject of Object.keys(samples)) {
    for (const [quantity, unit] of Object.entries(units)) {
      bench.record({ subject, name: `${label}: ${quantity}`, unit, samples: column(samples, subject, quantity) })
    }
    if (subject === SINGLE) continue
    for (const quantity of ['rate', 'CPU']) {
      const goal: FigureInput['goal'] =
        hasGoal && quantity === 'CPU' && subject === nameOf(SHAPES[0])
          ? { relation: '<=', value: CPU_RATIO_GOAL }
          : undefined
      bench.record({
        subject: `${subject} / ${SINGLE}`,
        name: `${label}: ${quantity}`,
        unit: 'ratio',
        samples: ratios(column(samples, subject, quantity), column(samples, SINGLE, quantity)),
        goal,
      })
    }
  }
}
