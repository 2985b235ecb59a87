/**
 * A small file system that fills up: rates at a fifth, at 95 %, and at a fifth again; then what is answered when no more fits, first for the
 * server alone and then with every byte taken by other software. Nothing that was acknowledged may be missing then, not after the server was
 * killed either, deletes have to work, and their space has to come back. `--drive` names a folder of that file system:
 *
 *     truncate -s 2G /tmp/small.img && mkfs.ext4 -q -m 0 /tmp/small.img && mkdir /tmp/small && mount -o loop /tmp/small.img /tmp/small
 */
import { closeSync, openSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench, Scenario } from '../bench.ts'
import { type Answer, CheckedClient } from '../checked-client.ts'
import { createBucket } from '../control.ts'
import { makeFolder, removeFolder } from '../processes.ts'
import { median, percentile } from '../statistics.ts'

const BUCKET = 'bench'
const KIB = 1024
const MIB = 2 ** 20
const FILE_SYSTEM_BYTES_MAX = 8 * 2 ** 30
const SHARE_LOW = 0.2
const SHARE_HIGH = 0.95
const SHARE_STEP = 0.005
const CLIENT_COUNT = 16
/** Few enough that they fit between 95 % and the server's own reserve. */
const LOADS = [
  { label: '4 KiB', size: 4 * KIB, count: 800 },
  { label: '1 MiB', size: MIB, count: 12 },
] as const
/** Objects of the measurement and of what fills the drive do not share keys. */
const FIRST_MEASURED = 5_000_000
/** The share of what is filled at which the next larger size goes on: small objects first, so that the last ones fill exactly. */
const FILLS = [
  { size: 4 * KIB, until: 0.1 },
  { size: 64 * KIB, until: 0.4 },
  { size: MIB, until: 1 },
] as const
const FILL_BATCH_COUNT = 32
/** A replaced or deleted body gives its space back after three seconds. */
const SETTLE_MS = 5000
const SPACE_TIME_MS_MAX = 180_000
const SPACE_STEADY_MS = 20_000
const REFUSALS_MAX = 20
const START_TIMEOUT_MS = 120_000

export const fullDrive: Scenario = {
  name: 'full-drive',
  summary: 'a file system of at most 8 GiB (--drive) at 20 %, at 95 % and full: rates, answers, what is kept, deletes',
  startsOwnServers: true,
  async run(bench) {
    if (bench.isBaselineOnly) return bench.say('nothing to compare with: left out')
    const { blocks, bsize } = statfsSync(bench.folder)
    if (blocks * bsize > FILE_SYSTEM_BYTES_MAX)
      return bench.say('left out: --drive has to be on a file system of at most 8 GiB')
    const logs = makeFolder(tmpdir(), 'svc-bench-full-drive-')
    try {
      await run(bench, logs)
    } finally {
      removeFolder(logs)
    }
  },
}

async function run(bench: Bench, logs: string): Promise<void> {
  let server = await bench.start({ folder: logs, drives: [join(bench.folder, 'drive')] })
  await createBucket(server, BUCKET)
  let client = new CheckedClient(server, BUCKET)
  const restart = async (): Promise<void> => {
    process.kill(server.pids()[0], 'SIGKILL')
    await server.stop()
    const { drives, credentials } = server
    const began = performance.now()
    server = await bench.start({ folder: logs, drives, credentials, isRestart: true, timeoutMs: START_TIMEOUT_MS })
    client = client.movedTo(server)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    say(bench, `after kill -9: served after ${seconds} s, ${await client.verify()} objects are what was acknowledged`)
  }
  const rounds = bench.isQuick ? 1 : 3
  await fill(bench, client, SHARE_LOW)
  const kept = new Set(client.keys)
  const low = await measure(bench, client, rounds)
  await fill(bench, client, SHARE_HIGH)
  const high = await measure(bench, client, rounds)

  await fillUp(bench, client)
  await expectRefusals(bench, client, 'full')
  await restart()
  await expectRefusals(bench, client, 'full, after kill -9')

  const filler = join(bench.folder, 'other-software')
  const taken = takeEverything(filler)
  say(bench, `other software takes the last ${(taken / 1e6).toFixed(1)} MB`)
  await expectRefusals(bench, client, 'no byte left')
  await restart()
  await expectRefusals(bench, client, 'no byte left, after kill -9')
  const toDelete = client.keys.filter(key => !kept.has(key))
  const deleted = await each(toDelete, key => client.delete(key))
  const failed = deleted.filter(({ status }) => status !== 204)
  say(bench, `no byte left: ${deleted.length - failed.length} of ${deleted.length} deletes were answered 204`)
  tell(bench, 'deletes with no byte left', failed)
  if (failed.length > 0) throw new Error('A delete was refused on a full drive.')
  await waitForRoom(bench, client)
  await restart()
  removeFolder(filler)
  await waitForSpace(bench)
  const again = await measure(bench, client, rounds)
  await client.verify()
  client.close()
  record(bench, low, high, again)
}

/** Runs work for each key, sixteen at a time. */
async function each(keys: readonly number[], work: (key: number) => Promise<Answer>): Promise<readonly Answer[]> {
  const answers: Answer[] = []
  let next = 0
  const one = async (): Promise<void> => {
    while (next < keys.length) answers.push(await work(keys[next++]!))
  }
  await Promise.all(Array.from({ length: CLIENT_COUNT }, one))
  return answers
}

/** Puts objects of all sizes until so much of the file system is used. */
async function fill(bench: Bench, client: CheckedClient, share: number): Promise<void> {
  const began = usedShare(bench)
  let key = client.keys.length
  for (const { size, until } of FILLS) {
    while (usedShare(bench) < began + (share - began) * until) {
      const count = size === MIB ? 4 : FILL_BATCH_COUNT
      const answers = await each(
        Array.from({ length: count }, () => key++),
        one => client.put(one, size),
      )
      const refused = answers.find(({ status }) => status !== 200)
      if (refused !== undefined) throw new Error(`Refused at ${percent(bench)}: ${refused.status} ${refused.code}.`)
    }
  }
  await sleep(SETTLE_MS)
  // The journal has allocated its next segment meanwhile: what was put last makes room for it.
  const last = [...client.keys]
  while (usedShare(bench) > share + SHARE_STEP && last.length > 0) {
    await each(last.splice(-8), one => client.delete(one))
    await sleep(SETTLE_MS)
  }
  say(bench, `${client.storedCount} objects, ${(client.storedBytes / 1e6).toFixed(0)} MB`)
}

/** Puts objects until one of each size was refused. */
async function fillUp(bench: Bench, client: CheckedClient): Promise<void> {
  const refused: Answer[] = []
  let key = client.keys.length
  for (const { size } of FILLS.toReversed()) {
    for (let answer: Answer | undefined; answer === undefined || answer.status === 200; ) {
      answer = await client.put(key++, size)
      if (answer.status !== 200) refused.push(answer)
    }
  }
  tell(bench, `full with ${client.storedCount} objects, ${(client.storedBytes / 1e6).toFixed(0)} MB`, refused)
}

interface Measured {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
  readonly refusedCount: number
}
type Rounds = Readonly<Record<string, readonly Measured[]>>

/** New objects, reads of them, deletes of them, and then a pause for their space to come back. */
async function measure(bench: Bench, client: CheckedClient, roundCount: number): Promise<Rounds> {
  const rounds: Record<string, Measured[]> = {}
  for (let round = 0; round < roundCount; round++) {
    for (const { label, size, count } of LOADS) {
      const keys = Array.from({ length: count }, (_, index) => FIRST_MEASURED + index)
      const works = {
        PUT: (key: number) => client.put(key, size),
        GET: (key: number) => client.get(key),
        DELETE: (key: number) => client.delete(key),
      }
      for (const [method, work] of Object.entries(works)) {
        const name = `${method} ${label}`
        const measured = await time(keys, work)
        if (measured.refusedCount > 0) say(bench, `${name}: ${measured.refusedCount} of ${count} were refused`)
        rounds[name] = [...(rounds[name] ?? []), measured]
      }
    }
    await sleep(SETTLE_MS)
  }
  say(bench, `measured`)
  return rounds
}

async function time(keys: readonly number[], work: (key: number) => Promise<Answer>): Promise<Measured> {
  const latencies: number[] = []
  const began = performance.now()
  const answers = await each(keys, async key => {
    const started = performance.now()
    const answer = await work(key)
    latencies.push(performance.now() - started)
    return answer
  })
  const seconds = (performance.now() - began) / 1000
  const sorted = latencies.sort((a, b) => a - b)
  const [p50, p99, longest] = [0.5, 0.99, 1].map(fraction => percentile(sorted, fraction)) as [number, number, number]
  const refusedCount = answers.filter(({ status }) => status > 299 && status !== 404).length
  return { rate: keys.length / seconds, p50, p99, longest, refusedCount }
}

/** New objects, and other bodies for old ones: each is refused as it should be, and what is there can be read. */
async function expectRefusals(bench: Bench, client: CheckedClient, when: string): Promise<void> {
  const old = client.keys.slice(0, REFUSALS_MAX)
  const answers: Answer[] = []
  for (const { size } of FILLS) {
    for (let index = 0; index < REFUSALS_MAX; index++) answers.push(await client.put(FIRST_MEASURED + index, size))
    for (const key of old) answers.push(await client.put(key, size))
  }
  tell(bench, when, answers)
  for (const key of client.keys.slice(0, 200)) await client.get(key)
}

function tell(bench: Bench, when: string, answers: readonly Answer[]): void {
  const counts = new Map<string, number>()
  for (const { status, code } of answers) {
    const name = `${status} ${code}`.trim()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  say(bench, `${when}: ${[...counts].map(([name, count]) => `${count} × ${name}`).join(', ') || 'nothing was refused'}`)
}

/** Writes a file until the file system has no byte left. */
function takeEverything(file: string): number {
  const handle = openSync(file, 'w')
  let bytes = 0
  try {
    for (const size of [MIB, 4 * KIB]) {
      const zeros = Buffer.alloc(size)
      try {
        for (;;) bytes += writeSync(handle, zeros)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
  } finally {
    closeSync(handle)
  }
  return bytes
}

/** How long it takes until new data is accepted. */
async function waitForRoom(bench: Bench, client: CheckedClient): Promise<void> {
  const began = performance.now()
  for (;;) {
    const { status } = await client.put(FIRST_MEASURED, MIB)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    if (status === 200) return say(bench, `new data was accepted ${seconds} s after the deletes`)
    if (performance.now() - began > SPACE_TIME_MS_MAX) throw new Error(`No room after ${seconds} s: ${percent(bench)}.`)
    await sleep(250)
  }
}

/** Until no more comes back for a while. */
async function waitForSpace(bench: Bench): Promise<void> {
  const began = performance.now()
  let least = usedShare(bench)
  let leastMs = began
  while (performance.now() - leastMs < SPACE_STEADY_MS) {
    await sleep(250)
    if (usedShare(bench) > least - SHARE_STEP) continue
    least = usedShare(bench)
    leastMs = performance.now()
  }
  say(bench, `what comes back of the space was back after ${((leastMs - began) / 1000).toFixed(1)} s`)
}

function usedShare({ folder }: Bench): number {
  const { blocks, bavail } = statfsSync(folder)
  return 1 - bavail / blocks
}

/** With the time and with what is used of the file system, which all of this is about. */
function say(bench: Bench, progress: string): void {
  const [time] = new Date().toISOString().slice(11).split('.')
  bench.say(`${time}, ${percent(bench)} used: ${progress}`)
}

function percent(bench: Bench): string {
  return `${(usedShare(bench) * 100).toFixed(1)} %`
}

function record(bench: Bench, low: Rounds, high: Rounds, again: Rounds): void {
  for (const name of Object.keys(low)) {
    for (const [quantity, unit] of [
      ['rate', 'requests/s'],
      ['p50', 'ms'],
      ['p99', 'ms'],
      ['longest', 'ms'],
      ['refusedCount', 'requests'],
    ] as const) {
      const all = [low, high, again].map(rounds => rounds[name]!.map(one => one[quantity])) as [
        number[],
        number[],
        number[],
      ]
      for (const [index, subject] of ['at 20 %', 'at 95 %', 'at 20 % again'].entries())
        bench.record({ subject, name: `${name}: ${quantity}`, unit, samples: all[index]! })
      if (quantity === 'refusedCount') continue
      const before = median([...all[0], ...all[2]])
      const samples = all[1].map(value => value / before)
      bench.record({ subject: '95 % / 20 %', name: `${name}: ${quantity}`, unit: 'ratio', samples })
    }
  }
}
