/**
 * Adds, moves and removes the versions of a key under the commit lock. Every change of a version goes through this file;
 * `commit.ts`, `rename.ts`, `expire.ts` and `remove-lost.ts` call it.
 *
 * Invariants, for each key:
 *
 *   1. The record at the key's own place is the newest version; the older ones lie behind it, newest first. There is no older
 *      version without a newest one.
 *   2. At most one version is the null version. The newest version records its location when it lies among the older ones.
 *   3. A locked version is never removed: neither deleted by its id, nor replaced.
 *   4. A newest version that is a delete marker records whether it is alone. An older version records since when it is
 *      noncurrent.
 *   5. A change in place alters neither the bytes of a version nor its sequence, ETag or time.
 *
 * | Versioning | put, copy, completed upload | delete without id | delete by id |
 * |---|---|---|---|
 * | off | replaces the null version | null version goes | null version goes |
 * | enabled | the newest moves behind, the new one gets an id | the same with a delete marker | that version goes |
 * | suspended | an older null version goes; replaces the newest where that is null, else it moves behind; the new one is null | the same with a delete marker | that version goes |
 *
 * When the newest version is removed, the next newest takes its place. A rename moves a version to another key only if it is the
 * key's only one and versioning is off.
 */
import type { PutOptions, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import type { ObjectLock } from './api.ts'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { behind, olderVersionKey, olderVersions } from './keys.ts'
import {
  blobIdsOf,
  isDeleteMarker,
  isNullVersion,
  lockOf,
  olderNullOf,
  recordedVersionId,
  sequenceOf,
  stampVersion,
  withAlone,
  withDueIndex,
  withLock,
  withNoncurrentSince,
  withOlderNull,
} from './record.ts'
import { sequenceOfVersionId, versionIdOf } from './version-id.ts'

/** The fields that a commit assigns to its version. */
export interface Stamp {
  readonly modifiedMs: number
  readonly sequence: number
  /** Undefined while versioning has never been enabled. */
  readonly versionId: string | undefined
}

export interface FoundVersion {
  readonly key: Buffer
  readonly record: StoredRecord
}

/** Makes an encoded version the newest one. `data`: the location of its bytes. */
export function addVersion(
  tx: Transaction,
  bucket: BucketDocument,
  newest: Buffer,
  encoded: Uint8Array,
  data: PutOptions,
): Stamp {
  const isVersioned = bucket.versioning === 'enabled'
  const value = withDefaultRetention(bucket, encoded, tx.nowMs)
  stampVersion(value, tx, isVersioned, bucket.dueIndex !== undefined)
  const olderNull = makeRoom(tx, bucket, newest)
  const alone = isDeleteMarker(value) && tx.first(...olderVersions(newest)) === undefined
  tx.put(newest, withOlderNull(withAlone(value, alone), olderNull), data)
  const versionId = bucket.versioning === undefined ? undefined : isVersioned ? versionIdOf(tx.sequence) : 'null'
  return { modifiedMs: tx.nowMs, sequence: tx.sequence, versionId }
}

/**
 * Moves the newest version behind, unless it is to be replaced. Returns the location of the null version if that is among the
 * older ones then.
 */
function makeRoom(tx: Transaction, bucket: BucketDocument, newest: Buffer): number | undefined {
  const isVersioned = bucket.versioning === 'enabled'
  const present = tx.get(newest)
  if (present === undefined) return undefined
  const { value } = present
  const isNull = isNullVersion(value)
  if (isNull && !isVersioned) {
    requireUnlocked(value, tx.nowMs, false)
    return undefined
  }
  const olderNull = olderNullOf(value)
  const replaced = isVersioned || olderNull === undefined ? undefined : olderVersionKey(newest, olderNull)
  // Checked before any change is made.
  if (replaced !== undefined) requireUnlocked(tx.get(replaced)!.value, tx.nowMs, false)
  const older = withNoncurrentSince(moved(bucket, withAlone(value, false)), tx.nowMs)
  writeAgain(tx, olderVersionKey(newest, sequenceOf(value)), newest, present, older)
  if (isVersioned) return isNull ? sequenceOf(value) : olderNull
  if (replaced !== undefined) tx.delete(replaced)
  return undefined
}

/** The version id for S3; undefined while versioning has never been enabled. */
export function shownVersionId(bucket: BucketDocument, value: Uint8Array): string | undefined {
  if (bucket.versioning === undefined) return undefined
  return recordedVersionId(value)
}

/** The version of that id; `undefined` means the newest. Throws InvalidArgument for an invalid id. */
export function findVersion(tx: Transaction, newest: Buffer, versionId: string | undefined): FoundVersion | undefined {
  const record = tx.get(newest)
  if (versionId === undefined) return record && { key: newest, record }
  const named = sequenceOfVersionId(versionId)
  if (record === undefined) return undefined
  const isNull = named === undefined
  if (isNullVersion(record.value) === isNull && (isNull || sequenceOf(record.value) === named)) {
    return { key: newest, record }
  }
  const sequence = named ?? olderNullOf(record.value)
  const found = sequence === undefined ? undefined : findOlder(tx, newest, sequence)
  return found !== undefined && isNullVersion(found.record.value) === isNull ? found : undefined
}

/** The version that the commit with that sequence created. */
export function findBySequence(tx: Transaction, newest: Buffer, sequence: number): FoundVersion | undefined {
  const record = tx.get(newest)
  if (record === undefined) return undefined
  return sequenceOf(record.value) === sequence ? { key: newest, record } : findOlder(tx, newest, sequence)
}

function findOlder(tx: Transaction, newest: Buffer, sequence: number): FoundVersion | undefined {
  const key = olderVersionKey(newest, sequence)
  const record = tx.get(key)
  return record && { key, record }
}

/** A version that moves also enters the index of due times, since the walk of `indexDue` may already be past its new place. */
function moved(bucket: BucketDocument, value: Uint8Array): Uint8Array {
  return bucket.dueIndex === undefined ? value : withDueIndex(value)
}

/** Throws AccessDenied for a locked version. */
export function removeVersion(
  tx: Transaction,
  bucket: BucketDocument,
  newest: Buffer,
  { key, record }: FoundVersion,
  bypassGovernance: boolean,
): void {
  const { value } = record
  requireUnlocked(value, tx.nowMs, bypassGovernance)
  if (key.length !== newest.length) {
    tx.delete(key)
    const first = tx.get(newest)!
    const alone = isDeleteMarker(first.value) && tx.first(...olderVersions(newest)) === undefined
    const olderNull = isNullVersion(value) ? undefined : olderNullOf(first.value)
    const changed = withOlderNull(withAlone(first.value, alone), olderNull)
    if (changed !== first.value) writeAgain(tx, newest, newest, first, changed)
    return
  }
  const [start, end] = olderVersions(newest)
  const next = tx.first(start, end)
  if (next === undefined) {
    tx.delete(newest)
    return
  }
  const nextKey = Buffer.from(next.key)
  const successor = tx.get(nextKey)!
  const olderNull = isNullVersion(successor.value) ? undefined : olderNullOf(value)
  const alone = isDeleteMarker(successor.value) && tx.first(behind(nextKey), end) === undefined
  const promoted = moved(bucket, withAlone(successor.value, alone))
  writeAgain(tx, newest, nextKey, successor, withOlderNull(promoted, olderNull))
  tx.delete(nextKey)
}

/** Replaces the record of a version; its bytes and blobs stay. */
export function replaceVersion(tx: Transaction, { key, record }: FoundVersion, value: Uint8Array): void {
  writeAgain(tx, key, key, record, value)
}

/** Moves the only version of a key to another key, replacing what is there. The record and its sequence stay the same. */
export function moveVersion(tx: Transaction, bucket: BucketDocument, from: FoundVersion, to: Buffer): void {
  writeAgain(tx, to, from.key, from.record, moved(bucket, from.record.value))
  tx.delete(from.key)
}

function writeAgain(tx: Transaction, to: Buffer, from: Buffer, record: StoredRecord, value: Uint8Array): void {
  tx.put(to, value, record.body === undefined ? { blobs: blobIdsOf(value) } : { bodyOf: from })
}

/** Whether a lock protects the version, for callers without the right to bypass it. */
export function isKept(value: Uint8Array, nowMs: number): boolean {
  const lock = lockOf(value)
  return lock !== undefined && isProtecting(lock, nowMs)
}

/** The same of a lock that has been read. */
export function isProtecting(lock: ObjectLock, nowMs: number): boolean {
  return lock.legalHold === true || isRetaining(lock, nowMs)
}

/** Throws AccessDenied for a locked version. Only retention in GOVERNANCE mode can be bypassed. */
function requireUnlocked(value: Uint8Array, nowMs: number, bypassGovernance: boolean): void {
  const lock = lockOf(value)
  if (lock === undefined) return
  const isRetained = isRetaining(lock, nowMs) && !(lock.retention!.mode === 'GOVERNANCE' && bypassGovernance)
  if (lock.legalHold === true || isRetained) throw objectErrors.AccessDenied()
}

export function isRetaining({ retention }: ObjectLock, nowMs: number): boolean {
  // Also where the end is no number.
  return retention !== undefined && !(retention.retainUntilMs <= nowMs)
}

function withDefaultRetention({ objectLock }: BucketDocument, value: Uint8Array, nowMs: number): Uint8Array {
  const byDefault = objectLock?.defaultRetention
  if (byDefault === undefined || isDeleteMarker(value)) return value
  const lock = lockOf(value)
  if (lock?.retention !== undefined) return value
  const { mode, days, years } = byDefault
  const until = new Date(nowMs)
  if (days !== undefined) until.setUTCDate(until.getUTCDate() + days)
  if (years !== undefined) until.setUTCFullYear(until.getUTCFullYear() + years)
  return withLock(value, { legalHold: lock?.legalHold, retention: { mode, retainUntilMs: until.getTime() } })
}
