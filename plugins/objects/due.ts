/**
 * The index of due times: derived entries that find the versions and uploads of at least some age, without visiting younger ones.
 * The plugin `lifecycle` uses it. It contains ages only, not rules, because rules change after objects were written.
 *
 *     a <bucket> 00 c <day> <key> 00               a newest version that is no delete marker, by the day it was written
 *     a <bucket> 00 m <day> <key> 00               a delete marker that is the only version, by the day it was written
 *     a <bucket> 00 n <day> <key> 00 <sequence>    an older version, by the day it stopped being the newest
 *     a <bucket> 00 u <day> <key> 00 <upload id>   an upload, by the day it was begun
 *
 * - Days are counted from 1970 (UTC), in three bytes. Entries have no value.
 * - Of one key the oldest version comes first, so that a rule about the number of newer versions does not depend on the versions that
 *   the same run has just removed.
 * - An entry costs about a seventh of a small PUT. So versions have entries only if they can matter: those written while the bucket's
 *   `dueIndex` was on (flag `due`), and those that `indexDue` has flagged since.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Derive, StorageService } from 'svc/plugins/storage/api'
import { recordTable as table } from 'svc/plugins/storage/api'
import type { AgesRequest, DueEntry, DueKind, DuePage, DueRange, DueRequest } from './api.ts'
import type { UploadDocument } from './commit.ts'
import { behind, bucketRange, escapeKey, unescapeKey, uploadKey } from './keys.ts'
import {
  decodeDocument,
  isAlone,
  isDeleteMarker,
  isDueIndexed,
  isNullVersion,
  lockOf,
  modifiedOf,
  noncurrentSinceOf,
  sequenceOf,
  sizeOf,
  tagsOf,
} from './record.ts'

const dayMs = 86_400_000
const kindByte = { current: 0x63, noncurrent: 0x6e, marker: 0x6d, upload: 0x75 } as const
const dayBytes = 3
const sequenceBytes = 8
/** Steps of the walk per page: entries, and seeks over ranges that were not requested. */
const stepsMax = 1000
const nothing = new Uint8Array(0)

/** The derived entries of a version's record in the index of due times. */
export const deriveObjectDue: Derive = (key, before, after, emit) => {
  const isBefore = before !== undefined && isDueIndexed(before)
  const isAfter = after !== undefined && isDueIndexed(after)
  if (!isBefore && !isAfter) return
  const bucketEnd = key.indexOf(0)
  const isNewest = key.indexOf(0, bucketEnd + 1) === key.length - 1
  const was = isBefore ? ageOf(before, isNewest) : undefined
  const is = isAfter ? ageOf(after, isNewest) : undefined
  if (was?.kind === is?.kind && was?.day === is?.day) return
  if (was !== undefined) emit.delete(entryKey(key, bucketEnd, was, isNewest))
  if (is !== undefined) emit.put(entryKey(key, bucketEnd, is, isNewest), nothing)
}

export const deriveUploadDue: Derive = (key, before, after, emit) => {
  const bucketEnd = key.indexOf(0)
  if (before !== undefined) emit.delete(entryKey(key, bucketEnd, uploadAge(before), true))
  if (after !== undefined) emit.put(entryKey(key, bucketEnd, uploadAge(after), true), nothing)
}

interface Age {
  readonly kind: DueKind
  readonly day: number
}

function ageOf(value: Uint8Array, isNewest: boolean): Age | undefined {
  if (!isNewest) {
    const sinceMs = noncurrentSinceOf(value)
    return sinceMs === undefined ? undefined : { kind: 'noncurrent', day: dayOf(sinceMs) }
  }
  if (!isDeleteMarker(value)) return { kind: 'current', day: dayOf(modifiedOf(value)) }
  return isAlone(value) ? { kind: 'marker', day: dayOf(modifiedOf(value)) } : undefined
}

function uploadAge(value: Uint8Array): Age {
  return { kind: 'upload', day: dayOf(decodeDocument<UploadDocument>(value).startedMs) }
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs)
}

/** The record key, with kind and day inserted after the bucket. */
function entryKey(key: Buffer, bucketEnd: number, { kind, day }: Age, isNewest: boolean): Buffer {
  const entry = Buffer.allocUnsafe(key.length + 1 + dayBytes)
  key.copy(entry, 0, 0, bucketEnd + 1)
  entry[0] = table.due
  entry[bucketEnd + 1] = kindByte[kind]
  entry.writeUIntBE(day, bucketEnd + 2, dayBytes)
  key.copy(entry, bucketEnd + 2 + dayBytes, bucketEnd + 1)
  // Records of older versions are sorted newest first; the index needs oldest first.
  if (!isNewest) invert(entry.subarray(entry.length - sequenceBytes))
  return entry
}

function invert(bytes: Buffer): void {
  for (let i = 0; i < bytes.length; i++) bytes[i]! ^= 0xff
}

/** Entries of one kind, in index order. */
export function listDueKeys(storage: StorageService, request: DueRequest) {
  const { bucket, kind, ranges, after } = request
  const head = Buffer.from([kindByte[kind]])
  const [start, end] = bucketRange(table.due, bucket, head)
  const wanted = createDays(ranges)
  // Starts at the page's beginning, because earlier entries that have just changed would only be collected to be skipped.
  return storage.scanDerived(after === undefined ? start : behind(after), end, cursor => {
    const keys: Buffer[] = []
    const dayAt = start.length
    for (let steps = 1, more = cursor.next(); more; steps++) {
      const entry = cursor.key
      const day = entry.readUIntBE(dayAt, dayBytes)
      if (day > wanted.lastDay) break
      const rest = entry.subarray(dayAt + dayBytes)
      const place = wanted.place(day, rest)
      if (place === 'inside') keys.push(Buffer.from(entry))
      if (steps >= stepsMax) return { keys, next: Buffer.from(entry) }
      if (place === 'inside') more = cursor.next()
      else
        more = cursor.seek(
          Buffer.concat(place === 'after' ? [start, dayNumber(day + 1)] : [start, dayNumber(day), place]),
        )
    }
    return { keys, next: undefined }
  })
}

function dayNumber(day: number): Buffer {
  const bytes = Buffer.allocUnsafe(dayBytes)
  bytes.writeUIntBE(day, 0, dayBytes)
  return bytes
}

/** The key ranges that are requested for a day. */
function createDays(ranges: readonly DueRange[]) {
  const all = ranges
    .map(({ prefix, lastDay }) => ({ prefix: escapeKey(prefix), lastDay }))
    .sort((a, b) => a.prefix.compare(b.prefix))
  let current = -1
  let prefixes: Buffer[] = []
  return {
    lastDay: Math.max(-1, ...all.map(range => range.lastDay)),
    /** `inside` if requested, the next requested prefix to seek to, or `after` when the day has no more. */
    place(day: number, rest: Buffer): 'inside' | 'after' | Buffer {
      if (day !== current) {
        current = day
        prefixes = []
        for (const { prefix, lastDay } of all) {
          // Prefixes below another prefix directly follow it.
          if (lastDay >= day && !startsWith(prefix, prefixes.at(-1))) prefixes.push(prefix)
        }
      }
      let low = 0
      for (let high = prefixes.length; low < high; ) {
        const middle = (low + high) >> 1
        if (prefixes[middle]!.compare(rest) <= 0) low = middle + 1
        else high = middle
      }
      if (startsWith(rest, prefixes[low - 1])) return 'inside'
      return prefixes[low] ?? 'after'
    },
  }
}

function startsWith(bytes: Buffer, prefix: Buffer | undefined): boolean {
  return (
    prefix !== undefined &&
    bytes.length >= prefix.length &&
    bytes.compare(prefix, 0, prefix.length, 0, prefix.length) === 0
  )
}

/** The entries with the data of their records; those whose record has gone are left out. */
export async function listDue(storage: StorageService, request: DueRequest): Promise<DuePage> {
  const { bucket, kind } = request
  const { keys, next } = await listDueKeys(storage, request)
  const entries: DueEntry[] = []
  if (kind === 'upload') {
    for (const key of keys) {
      const entry = uploadEntry(bucket, key)
      if (request.withTimes !== true) entries.push(entry)
      else {
        const record = await storage.get(uploadKey(bucket, entry.key, entry.uploadId))
        if (record === undefined) continue
        entries.push({ ...entry, sinceMs: decodeDocument<UploadDocument>(record.value).startedMs })
      }
    }
    return { entries, next }
  }
  for (const key of keys) {
    const entry = await readVersionEntry(storage, request, key)
    if (entry !== undefined) entries.push(entry)
  }
  return { entries, next }
}

/** Offset of the object key in an entry. */
function restOffset(bucket: string): number {
  return bucket.length + 3 + dayBytes
}

function dayIn(bucket: string, entry: Buffer): number {
  return entry.readUIntBE(bucket.length + 3, dayBytes)
}

function uploadEntry(bucket: string, entry: Buffer): DueEntry {
  const keyEnd = entry.indexOf(0, restOffset(bucket))
  return {
    kind: 'upload',
    key: unescapeKey(entry, restOffset(bucket), keyEnd),
    day: dayIn(bucket, entry),
    sinceMs: 0,
    sequence: 0,
    uploadId: entry.toString('latin1', keyEnd + 1),
    isDeleteMarker: false,
    sizeBytes: 0,
    tags: undefined,
    newerCount: 0,
    isNull: false,
  }
}

async function readVersionEntry(
  storage: StorageService,
  request: DueRequest,
  entry: Buffer,
): Promise<DueEntry | undefined> {
  const { bucket, kind, newerMax = 0 } = request
  const rest = restOffset(bucket)
  const keyEnd = entry.indexOf(0, rest)
  const newest = Buffer.concat([bucketRange(table.object, bucket)[0], entry.subarray(rest, keyEnd + 1)])
  let at = newest
  if (kind === 'noncurrent') {
    at = Buffer.concat([newest, entry.subarray(keyEnd + 1)])
    invert(at.subarray(newest.length))
  }
  const key = unescapeKey(entry, rest, keyEnd)
  const record = await storage.get(at)
  if (record === undefined) return undefined
  const found = versionEntry(request, key, dayIn(bucket, entry), record.value)
  if (newerMax === 0 || kind !== 'noncurrent') return found
  return { ...found, newerCount: await countBetween(storage, newest, at, newerMax) }
}

function versionEntry(
  { kind, withTags, withLocks }: Pick<DueRequest, 'kind'> & Pick<AgesRequest, 'withTags' | 'withLocks'>,
  key: string,
  day: number,
  value: Uint8Array,
): DueEntry {
  const isMarker = isDeleteMarker(value)
  return {
    kind,
    key,
    day,
    sinceMs: (kind === 'noncurrent' ? noncurrentSinceOf(value) : undefined) ?? modifiedOf(value),
    sequence: sequenceOf(value),
    uploadId: '',
    isDeleteMarker: isMarker,
    sizeBytes: sizeOf(value),
    tags: withTags === true && !isMarker ? tagsOf(value) : undefined,
    ...(withLocks === true && { lock: lockOf(value) }),
    newerCount: 0,
    isNull: isNullVersion(value),
  }
}

/** Number of older versions that are newer than this one, counted up to `max`. */
function countBetween(storage: StorageService, newest: Buffer, at: Buffer, max: number): MaybePromise<number> {
  return storage.scan(behind(newest), at, cursor => {
    let count = 0
    while (count < max && cursor.next()) count++
    return count
  })
}

/** One page of the walk over all versions. */
export function listAges(storage: StorageService, request: AgesRequest): MaybePromise<DuePage> {
  const { bucket, after, withTags, withLocks } = request
  const [start, end] = bucketRange(table.object, bucket)
  const keyAt = start.length
  return storage.scan(after === undefined ? start : behind(after), end, cursor => {
    const entries: DueEntry[] = []
    for (let steps = 1; cursor.next(); steps++) {
      const { key: at, value } = cursor
      const keyEnd = at.indexOf(0, keyAt)
      const isNewest = keyEnd === at.length - 1
      const markerAge: Age | undefined = isNewest ? { kind: 'marker', day: dayOf(modifiedOf(value)) } : undefined
      const age = ageOf(value, isNewest) ?? markerAge
      if (age !== undefined) {
        const about = { kind: age.kind, ...(withTags && { withTags }), ...(withLocks && { withLocks }) }
        entries.push(versionEntry(about, unescapeKey(at, keyAt, keyEnd), age.day, value))
      }
      if (steps >= stepsMax) return { entries, next: Buffer.from(at) }
    }
    return { entries, next: undefined }
  })
}

/**
 * Records of versions that are not in the index. A version that moves during this walk enters the index by moving
 * (`versions.ts`).
 */
export function listUnindexed(storage: StorageService, bucket: string, after: Buffer | undefined) {
  const [start, end] = bucketRange(table.object, bucket)
  return storage.scan(after === undefined ? start : behind(after), end, cursor => {
    const keys: Buffer[] = []
    for (let steps = 1; cursor.next(); steps++) {
      if (!isDueIndexed(cursor.value)) keys.push(Buffer.from(cursor.key))
      if (steps >= stepsMax) return { keys, next: Buffer.from(cursor.key) }
    }
    return { keys, next: undefined }
  })
}
