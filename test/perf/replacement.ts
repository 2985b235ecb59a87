/**
 * A set with objects, one drive of which is replaced by an empty folder: the way there, the waiting until nothing is below its
 * redundancy any more, and the proof that it is so.
 */
import { closeSync, constants, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bench, planFor, sendAll } from './bench.ts'
import { createBucket } from './control.ts'
import { freeBytes } from './machine.ts'
import { alignedBlock } from './raw.ts'
import {
  loggedAtMs,
  type Redundancy,
  readRedundancy,
  replaceDrive,
  restartSet,
  type SetShape,
  startSet,
  takeAway,
} from './sets.ts'
import type { ServerTarget } from './targets.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
export const BUCKET = 'bench'
export const SHAPE: SetShape = { dataCount: 4, parityCount: 2 }
const ZEROS = Buffer.alloc(MIB)
/** The drive that is replaced: any will do, each has shards of data and of parity. */
const REPLACED = 2
/** Small ones are bodies beside records, large ones are blobs. */
const SMALL_BYTES = 4096
const LARGE_BYTES = 256 * MIB
const LARGE_BYTES_QUICK = 64 * MIB
const FILL_BATCH_COUNT = 50_000
const FILL_TIME_MS_MAX = 600_000
const READ_TIME_MS_MAX = 600_000
const POLL_INTERVAL_MS = 200
const REPORT_INTERVAL_MS = 10_000
/** What could not be healed is tried again after a while. */
const STALL_MS_MAX = 180_000
/** Beside the shards: journals that are laid out in advance, records, and what is written twice for a while. */
const ROOM_PER_DRIVE_BYTES = 256 * MIB
const ROOM_PER_OBJECT_BYTES = 8 * 1024

/** What is in the set. */
export interface Stock {
  readonly label: string
  readonly count: number
  readonly sizeBytes: number
}

/** Many small objects, and some large ones; each is a set of its own. */
export function stocksOf({ isQuick, keyCount, largeBytes }: Bench): readonly Stock[] {
  const small = keyCount ?? (isQuick ? 5000 : 100_000)
  const bytes = largeBytes ?? (isQuick ? GIB : 20 * GIB)
  const sizeBytes = Math.min(bytes, isQuick ? LARGE_BYTES_QUICK : LARGE_BYTES)
  const count = Math.max(1, Math.round(bytes / sizeBytes))
  return [
    { label: `${small} objects of 4 KiB`, count: small, sizeBytes: SMALL_BYTES },
    { label: `${count} objects of ${Math.round(sizeBytes / MIB)} MiB`, count, sizeBytes },
  ]
}

/** Throws where the disk has not enough room for the set with these objects. */
export function requireRoom(bench: Bench, { label, count, sizeBytes }: Stock): void {
  const { dataCount, parityCount } = SHAPE
  const driveCount = dataCount + parityCount
  // The replaced drive's shards are there once, but its records may be moved while its journal fills.
  const shards = (count * sizeBytes * driveCount) / dataCount
  const needed = shards * 1.1 + count * ROOM_PER_OBJECT_BYTES * driveCount + driveCount * ROOM_PER_DRIVE_BYTES
  const free = freeBytes(bench.folder)
  if (free >= needed) return
  const [freeText, neededText] = [free, needed].map(bytes => `${(bytes / GIB).toFixed(1)} GiB`)
  throw new Error(
    `The disk has ${freeText} free, and a set with ${label} needs ${neededText}: choose less (--keys, --bytes) or another disk (--drive).`,
  )
}

export interface FilledSet {
  readonly folder: string
  readonly stock: Stock
  /** Stopped; for its drives and its keys. */
  readonly stopped: ServerTarget
}

/** Makes a set, stores the objects, and stops its server. `more` may store others. */
export async function fillSet(
  bench: Bench,
  name: string,
  stock: Stock,
  more?: (server: ServerTarget) => Promise<void>,
): Promise<FilledSet> {
  requireRoom(bench, stock)
  const folder = join(bench.folder, name)
  const server = await startSet(bench, folder, SHAPE)
  await createBucket(server, BUCKET)
  bench.say(`storing ${stock.label}`)
  await eachBatch(stock, async targets => {
    const { sizeBytes: bodySizeBytes } = stock
    const connectionCount = bodySizeBytes < MIB ? 64 : 2
    const plan = { method: 'PUT', targets, connectionCount, bodySizeBytes } as const
    await sendAll(bench, planFor(bench, server, plan), FILL_TIME_MS_MAX)
  })
  await more?.(server)
  const { records, below } = await readRedundancy(server)
  if (records < stock.count || below > 0) {
    throw new Error(`${stock.count} objects were stored; the set knows ${records}, and ${below} lack a shard.`)
  }
  await server.stop()
  return { folder, stock, stopped: server }
}

async function eachBatch(
  { count }: Stock,
  work: (targets: { bucket: string; first: number; count: number }) => Promise<void>,
): Promise<void> {
  for (let first = 0; first < count; first += FILL_BATCH_COUNT) {
    await work({ bucket: BUCKET, first, count: Math.min(FILL_BATCH_COUNT, count - first) })
  }
}

/** Starts the server with an empty folder in the place of a drive. It begins at once to fill it. */
export function restartWithEmptyDrive(bench: Bench, { folder, stopped }: FilledSet): Promise<ServerTarget> {
  replaceDrive(stopped.drives[REPLACED])
  return restartSet(bench, folder, SHAPE, stopped)
}

/** When the server found the empty folder, in milliseconds since 1970. */
export function rebuildBeganMs(server: ServerTarget): number {
  const atMs = loggedAtMs(server, 'a drive was replaced')
  if (atMs === undefined) throw new Error('The server did not notice that a drive was replaced.')
  return atMs
}

/** Waits until every record has all of its shards, as the ledger says. Rejects when nothing goes on any more. */
export async function waitUntilWhole(bench: Bench, server: ServerTarget): Promise<Redundancy> {
  let least = Number.POSITIVE_INFINITY
  let changedMs = performance.now()
  let reportedMs = changedMs
  for (;;) {
    const now = await readRedundancy(server)
    if (now.below === 0) return now
    const nowMs = performance.now()
    if (now.below < least) {
      least = now.below
      changedMs = nowMs
    }
    if (nowMs - changedMs > STALL_MS_MAX) {
      throw new Error(`${now.below} records still lack a shard, and none was healed for ${STALL_MS_MAX / 1000} s.`)
    }
    if (nowMs - reportedMs > REPORT_INTERVAL_MS) {
      bench.say(`${now.below} of ${now.records} records still lack a shard`)
      reportedMs = nowMs
    }
    await sleep(POLL_INTERVAL_MS)
  }
}

/**
 * Stops the server and reads everything with as many other drives away as there is parity: what was made anew has to be there and be
 * right, or reading fails.
 */
export async function proveRebuilt(bench: Bench, { folder, stock, stopped }: FilledSet): Promise<void> {
  const { dataCount, parityCount } = SHAPE
  for (let index = 0; index < parityCount; index++) {
    takeAway(stopped.drives[(REPLACED + 1 + index) % (dataCount + parityCount)])
  }
  const server = await restartSet(bench, folder, SHAPE, stopped)
  bench.say(`reading ${stock.label} with ${parityCount} other drives away`)
  await eachBatch(stock, async targets => {
    const connectionCount = stock.sizeBytes < MIB ? 64 : 2
    const plan = { method: 'GET', targets, connectionCount, receiveBufferBytes: MIB } as const
    const { receivedBodyBytes } = await sendAll(bench, planFor(bench, server, plan), READ_TIME_MS_MAX)
    if (receivedBodyBytes !== targets.count * stock.sizeBytes) throw new Error('A body was cut short.')
  })
  await server.stop()
}

/**
 * Seconds to read what a rebuild has to read at least: the journals and blobs of as many other drives as there are data shards, one file
 * after the other, a MiB at a time, past the page cache where that is possible. And how many bytes that was.
 */
export function readShardFiles({ stopped }: FilledSet): { readonly seconds: number; readonly bytes: number } {
  const drives = stopped.drives.filter((_, index) => index !== REPLACED).slice(0, SHAPE.dataCount)
  const buffer = alignedBlock(MIB)
  const files = drives.flatMap(drive => ['journal', 'blobs'].flatMap(folder => filesBelow(join(drive, folder))))
  // What a journal has laid out in advance is zeros that nobody reads.
  const ends = files.map(path => readFile(path, buffer, Number.POSITIVE_INFINITY).contentEnd)
  let bytes = 0
  const began = performance.now()
  for (const [index, path] of files.entries()) bytes += readFile(path, buffer, ends[index]).bytes
  return { seconds: (performance.now() - began) / 1000, bytes }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}

/** Up to `end`. `contentEnd`: behind the last piece that is not all zeros, as far as it was looked for (without an end). */
function readFile(path: string, buffer: Buffer, end: number): { readonly bytes: number; readonly contentEnd: number } {
  const file = openPastCache(path)
  try {
    let contentEnd = 0
    let at = 0
    while (at < end) {
      const count = readSync(file, buffer, 0, buffer.length, at)
      if (count === 0) break
      at += count
      if (end === Number.POSITIVE_INFINITY && !ZEROS.subarray(0, count).equals(buffer.subarray(0, count)))
        contentEnd = at
    }
    return { bytes: at, contentEnd }
  } finally {
    closeSync(file)
  }
}

function openPastCache(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECT)
  } catch {
    return openSync(path, 'r') // a file system without O_DIRECT: the page cache is part of the path then
  }
}
