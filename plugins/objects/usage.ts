/**
 * Exact usage: each record's contribution to the counters of its bucket and of its top-level prefix. Since the counters are
 * derived in the commit, they are always the same function of the records: they cannot drift, and no walk ever recounts them.
 */
import type { Derive } from 'svc/plugins/storage/api'
import { recordTable as table } from 'svc/plugins/storage/api'
import type { BucketUsage } from './api.ts'
import { counterKey, unescapeKey } from './keys.ts'
import { isDeleteMarker, sizeOf } from './record.ts'

const slot = { objects: 0, versions: 1, deleteMarkers: 2, sizeBytes: 3, uploads: 4, uploadBytes: 5 } as const
const slotCount = 6
const slash = 0x2f

export function decodeUsage(sums: readonly number[]): BucketUsage {
  return {
    objects: sums[slot.objects] ?? 0,
    versions: sums[slot.versions] ?? 0,
    deleteMarkers: sums[slot.deleteMarkers] ?? 0,
    sizeBytes: sums[slot.sizeBytes] ?? 0,
    uploads: sums[slot.uploads] ?? 0,
    uploadBytes: sums[slot.uploadBytes] ?? 0,
  }
}

/** Bytes of all versions and parts. */
export function storedBytes({ sizeBytes, uploadBytes }: BucketUsage): number {
  return sizeBytes + uploadBytes
}

/** Every version counts with its bytes; only the record of a current version counts as an object. */
export const deriveObjectUsage: Derive = (key, before, after, emit) => {
  const bucketEnd = key.indexOf(0)
  const keyEnd = key.indexOf(0, bucketEnd + 1)
  const isCurrent = keyEnd === key.length - 1
  const deltas = new Array<number>(slotCount).fill(0)
  if (before !== undefined) addVersion(deltas, before, isCurrent, -1)
  if (after !== undefined) addVersion(deltas, after, isCurrent, 1)
  if (deltas.every(delta => delta === 0)) return
  const bucket = key.toString('latin1', 1, bucketEnd)
  const counter = counterKey(bucket)
  emit.add(counter, deltas)
  // See `folderCounters`.
  const prefixEnd = key.indexOf(slash, bucketEnd + 1)
  if (prefixEnd !== -1 && prefixEnd < keyEnd) {
    emit.add(Buffer.concat([counter, key.subarray(bucketEnd, prefixEnd + 1)]), deltas)
  }
}

/** What the keys of the counters of a bucket's top-level prefixes begin with. */
export function folderCounters(bucket: string): Buffer {
  return Buffer.concat([counterKey(bucket), Buffer.from([0])])
}

/** The prefix of a counter's key; `start`: length of `folderCounters`. */
export function folderOf(key: Uint8Array, start: number): string {
  return unescapeKey(Buffer.from(key), start, key.length)
}

function addVersion(deltas: number[], value: Uint8Array, isCurrent: boolean, sign: 1 | -1): void {
  if (isDeleteMarker(value)) {
    deltas[slot.deleteMarkers]! += sign
    return
  }
  if (isCurrent) deltas[slot.objects]! += sign
  deltas[slot.versions]! += sign
  deltas[slot.sizeBytes]! += sign * sizeOf(value)
}

export const deriveUploadUsage: Derive = (key, before, after, emit) => {
  if ((before === undefined) === (after === undefined)) return
  emit.add(bucketCounter(key), [0, 0, 0, 0, after === undefined ? -1 : 1, 0])
}

export const derivePartUsage: Derive = (key, before, after, emit) => {
  const delta = (after === undefined ? 0 : sizeOf(after)) - (before === undefined ? 0 : sizeOf(before))
  if (delta !== 0) emit.add(bucketCounter(key), [0, 0, 0, 0, 0, delta])
}

function bucketCounter(key: Buffer): Buffer {
  const counter = Buffer.from(key.subarray(0, key.indexOf(0)))
  counter[0] = table.counter
  return counter
}
