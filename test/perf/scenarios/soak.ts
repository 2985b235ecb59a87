/**
 * A mixed load for a long time: new objects, other bodies for old ones, reads and deletes, at a moderate rate and on so few keys that
 * compaction has work. What grows, what gets slower and what is written beyond the bodies shows minute by minute. Everything that was read,
 * and at the end all that is stored, is compared with what was acknowledged, also after the server was killed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { CheckedClient, type Method } from '../checked-client.ts'
import { createBucket } from '../control.ts'
import { cpuSeconds, memoryOf, writtenBytes } from '../machine.ts'
import { readMetrics, sumOf } from '../sets.ts'
import { percentile } from '../statistics.ts'
import type { ServerTarget } from '../targets.ts'

const BUCKET = 'bench'
const KEY_COUNT = 4000
/** Requests are due at this rate, and those that wait count from when they were due. */
const REQUESTS_PER_SECOND = 150
const UNDER_WAY_MAX = 64
const TICK_MS = 5
const SIZE_MIN = 4096
/** Sizes are spread evenly over the powers of two from 4 KiB to 1 MiB. */
const SIZE_FACTOR_MAX = 256
/** Of the requests for keys that have an object; a key that has none gets one. */
const SHARES = { GET: 0.5, PUT: 0.3, DELETE: 0.2 }
const MINUTE_MS = 60_000
const MINUTE_COUNT = 60
const MINUTE_COUNT_QUICK = 3
const START_TIMEOUT_MS = 120_000

interface Minute {
  readonly latencies: Record<Method, number[]>
  bodyBytes: number
}

export const soak: Scenario = {
  name: 'soak',
  summary: 'a mixed load of 4 KiB to 1 MiB for an hour (--minutes): memory, latency, bytes written, compaction',
  environment: { SVC_PROMETHEUS_AUTH_TYPE: 'public' },
  async run(bench) {
    const { server } = bench
    if (server === undefined) return bench.say('nothing to compare with: left out')
    await createBucket(server, BUCKET)
    const client = new CheckedClient(server, BUCKET)
    const minutes = bench.minutes ?? (bench.isQuick ? MINUTE_COUNT_QUICK : MINUTE_COUNT)
    await run(bench, server, client, minutes)
    bench.say(`${await client.verify()} objects are what was acknowledged`)
    process.kill(server.pids()[0], 'SIGKILL')
    await server.stop()
    const { drives, credentials } = server
    const again = { folder: bench.folder, drives, credentials, isRestart: true, timeoutMs: START_TIMEOUT_MS }
    const moved = client.movedTo(await bench.start(again))
    bench.say(`${await moved.verify()} objects are what was acknowledged, after the server was killed`)
    moved.close()
  },
}

async function run(bench: Bench, server: ServerTarget, client: CheckedClient, minuteCount: number): Promise<void> {
  const [pid] = server.pids()
  const columns = new Map<string, { unit: string; samples: number[] }>()
  const add = (name: string, unit: string, value: number): void => {
    const column = columns.get(name) ?? { unit, samples: [] }
    column.samples.push(value)
    columns.set(name, column)
  }
  const load = startLoad(client)
  try {
    let [written, cpu] = [writtenBytes(pid), cpuSeconds([pid])]
    const began = written
    let allBodyBytes = 0
    for (let count = 1; count <= minuteCount; count++) {
      await Promise.race([sleep(MINUTE_MS), load.failed])
      const { latencies, bodyBytes } = load.takeMinute()
      const { residentBytes, anonymousBytes, mappedBytes } = memoryOf(pid, server.drive)
      const [writtenNow, cpuNow] = [writtenBytes(pid), cpuSeconds([pid])]
      const requestCount = Object.values(latencies).reduce((sum, one) => sum + one.length, 0)
      allBodyBytes += bodyBytes
      add('anonymous memory', 'MB', anonymousBytes / 1e6)
      add('resident memory', 'MB', residentBytes / 1e6)
      add('mapped pages of the index', 'MB', mappedBytes / 1e6)
      for (const method of ['GET', 'PUT'] as const) {
        const sorted = latencies[method].toSorted((a, b) => a - b)
        add(`${method}: p50`, 'ms', percentile(sorted, 0.5))
        add(`${method}: p99`, 'ms', percentile(sorted, 0.99))
        add(`${method}: longest`, 'ms', percentile(sorted, 1))
      }
      add('rate', 'requests/s', (requestCount * 1000) / MINUTE_MS)
      add('CPU', 'µs/request', ((cpuNow - cpu) * 1e6) / requestCount)
      add('bytes written for a byte of bodies', 'ratio', (writtenNow - written) / bodyBytes)
      written = writtenNow
      cpu = cpuNow
      const metrics = await readMetrics(server)
      for (const [name, figure, unit, divisor] of DRIVE_FIGURES) add(name, unit, sumOf(metrics, figure) / divisor)
      add('bodies stored', 'MB', client.storedBytes / 1e6)
      const line = [...columns].map(([name, { samples }]) => `${name} ${samples.at(-1)!.toPrecision(4)}`)
      bench.say(`minute ${count} of ${minuteCount}: ${line.join(', ')}`)
    }
    add('bytes written for a byte of bodies, all minutes', 'ratio', (written - began) / allBodyBytes)
  } finally {
    await load.stop()
  }
  for (const [name, { unit, samples }] of columns) bench.record({ subject: 'server', name, unit, samples })
}

/** What the drive says of itself, now or since its start. */
const DRIVE_FIGURES: readonly [name: string, figure: string, unit: string, divisor: number][] = [
  ['journal', 'svc_drive_journal_bytes', 'MB', 1e6],
  ['journal in use', 'svc_drive_journal_live_bytes', 'MB', 1e6],
  ['compacted segments', 'svc_drive_compacted_segments_total', 'segments', 1],
  ['moved by compaction', 'svc_drive_compaction_moved_bytes_total', 'MB', 1e6],
]

/** Sends requests when they are due until it is stopped. `failed` rejects on the first answer that is not what it should be. */
function startLoad(client: CheckedClient) {
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {
    // Whoever waits for it is told.
  })
  const busy = new Set<number>()
  let minute = newMinute()
  let sentCount = 0
  const startedMs = performance.now()
  const send = async (dueMs: number): Promise<void> => {
    let key = Math.floor(Math.random() * KEY_COUNT)
    while (busy.has(key)) key = Math.floor(Math.random() * KEY_COUNT)
    busy.add(key)
    const method = client.has(key) ? chooseMethod() : 'PUT'
    const size = Math.round(SIZE_MIN * SIZE_FACTOR_MAX ** Math.random())
    const { status, code, bytes } = await (method === 'PUT'
      ? client.put(key, size)
      : method === 'GET'
        ? client.get(key)
        : client.delete(key))
    if (status > 299) throw new Error(`${method} was answered ${status} ${code}.`)
    minute.latencies[method].push(performance.now() - dueMs)
    if (method === 'PUT') minute.bodyBytes += bytes
    busy.delete(key)
  }
  const timer = setInterval(() => {
    const dueCount = ((performance.now() - startedMs) * REQUESTS_PER_SECOND) / 1000
    while (sentCount < dueCount && busy.size < UNDER_WAY_MAX) {
      send(startedMs + (sentCount * 1000) / REQUESTS_PER_SECOND).catch(reject)
      sentCount++
    }
  }, TICK_MS)
  return {
    failed,
    takeMinute(): Minute {
      const taken = minute
      minute = newMinute()
      return taken
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      for (let waited = 0; busy.size > 0 && waited < 5000; waited += TICK_MS) await sleep(TICK_MS)
    },
  }
}

function newMinute(): Minute {
  return { latencies: { GET: [], PUT: [], DELETE: [] }, bodyBytes: 0 }
}

function chooseMethod(): Method {
  const drawn = Math.random()
  return drawn < SHARES.GET ? 'GET' : drawn < SHARES.GET + SHARES.PUT ? 'PUT' : 'DELETE'
}
