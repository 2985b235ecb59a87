/**
 * The part of lifecycle expiration that runs under the commit lock: removes due versions, and adds older versions to the index of
 * due times. The rules were evaluated on a scan; here each item is checked again. An item that has changed since does not affect
 * the others.
 */
import type { Transaction } from 'svc/plugins/storage/api'
import type { Expiry, ExpiryOutcome } from './api.ts'
import { type BucketDocument, requireBucket } from './bucket-document.ts'
import type { ObjectEvents, PackedOrigin } from './events.ts'
import { behind, objectKey, olderVersionKey } from './keys.ts'
import {
  encodeDeleteMarker,
  hasNullVersion,
  hasTags,
  isAlone,
  isDeleteMarker,
  isDueIndexed,
  isNullVersion,
  sequenceOf,
  withDueIndex,
} from './record.ts'
import { addVersion, type FoundVersion, isKept, removeVersion, replaceVersion, shownVersionId } from './versions.ts'

export interface ExpireArgs {
  readonly bucket: string
  readonly expiries: readonly Expiry[]
  readonly origin?: PackedOrigin
}

export const expire = (tx: Transaction, args: ExpireArgs, events: ObjectEvents): readonly ExpiryOutcome[] => {
  const bucket = requireBucket(tx, args.bucket)
  const isTold = events.wants(args.bucket)
  return args.expiries.map(expiry => {
    const newest = objectKey(args.bucket, expiry.key)
    if (!isTold) return expireOne(tx, bucket, newest, expiry)
    const due = tx.get(expiry.kind === 'noncurrent' ? olderVersionKey(newest, expiry.sequence) : newest)?.value
    const dueId = due && shownVersionId(bucket, due)
    const outcome = expireOne(tx, bucket, newest, expiry)
    const place = { bucket: args.bucket, key: expiry.key }
    if (outcome === 'deleted') {
      events.tell(tx, { ...place, name: 'LifecycleExpiration:Delete', versionId: dueId }, args.origin)
    } else if (outcome === 'marked' || outcome === 'marked-locked' || outcome === 'replaced') {
      const versionId = shownVersionId(bucket, tx.get(newest)!.value)
      events.tell(tx, { ...place, name: 'LifecycleExpiration:DeleteMarkerCreated', versionId }, args.origin)
    }
    return outcome
  })
}

function expireOne(tx: Transaction, bucket: BucketDocument, newest: Buffer, expiry: Expiry): ExpiryOutcome {
  if (expiry.kind === 'current') return expireCurrent(tx, bucket, newest, expiry)
  if (expiry.kind === 'noncurrent') return expireNoncurrent(tx, bucket, newest, expiry)
  return expireMarker(tx, bucket, newest, expiry)
}

function expireCurrent(tx: Transaction, bucket: BucketDocument, newest: Buffer, expiry: Expiry): ExpiryOutcome {
  const record = tx.get(newest)
  if (record === undefined || !isUnchanged(record.value, expiry) || isDeleteMarker(record.value)) return 'changed'
  const kept = isKept(record.value, tx.nowMs)
  if (bucket.versioning === undefined || (bucket.versioning === 'suspended' && isNullVersion(record.value))) {
    // Without versioning a delete would destroy the locked version.
    if (kept) return 'kept'
    if (bucket.versioning === undefined) {
      tx.delete(newest)
      return 'deleted'
    }
  }
  const replaces = bucket.versioning === 'suspended' && hasNullVersion(record.value)
  addVersion(tx, bucket, newest, encodeDeleteMarker(), {})
  if (kept) return 'marked-locked'
  return replaces ? 'replaced' : 'marked'
}

function expireNoncurrent(tx: Transaction, bucket: BucketDocument, newest: Buffer, expiry: Expiry): ExpiryOutcome {
  const key = olderVersionKey(newest, expiry.sequence)
  const record = tx.get(key)
  if (record === undefined || !isUnchanged(record.value, expiry)) return 'changed'
  if (!hasNewer(tx, newest, key, expiry.newerMin ?? 0)) return 'changed'
  return remove(tx, bucket, newest, { key, record })
}

function expireMarker(tx: Transaction, bucket: BucketDocument, newest: Buffer, expiry: Expiry): ExpiryOutcome {
  const record = tx.get(newest)
  if (record === undefined || !isUnchanged(record.value, expiry)) return 'changed'
  if (!isDeleteMarker(record.value) || !isAlone(record.value)) return 'changed'
  return remove(tx, bucket, newest, { key: newest, record })
}

function remove(tx: Transaction, bucket: BucketDocument, newest: Buffer, found: FoundVersion): ExpiryOutcome {
  if (isKept(found.record.value, tx.nowMs)) return 'kept'
  removeVersion(tx, bucket, newest, found, false)
  return 'deleted'
}

/** Tags change without a new version, so they are compared, too. */
function isUnchanged(value: Uint8Array, { sequence, tags }: Expiry): boolean {
  return sequenceOf(value) === sequence && (tags === undefined || hasTags(value, tags))
}

/** Whether at least `count` older versions of a key are newer than this one. */
function hasNewer(tx: Transaction, newest: Buffer, key: Buffer, count: number): boolean {
  let from = behind(newest)
  for (let left = count; left > 0; left--) {
    const found = tx.first(from, key)
    if (found === undefined) return false
    from = behind(found.key)
  }
  return true
}

/** Adds versions to the index of due times, if the bucket still has it on. */
export const indexDue = (tx: Transaction, args: { bucket: string; keys: readonly Uint8Array[] }): void => {
  if (requireBucket(tx, args.bucket).dueIndex === undefined) return
  for (const bytes of args.keys) {
    const key = Buffer.from(bytes)
    const record = tx.get(key)
    if (record === undefined || isDueIndexed(record.value)) continue
    replaceVersion(tx, { key, record }, withDueIndex(record.value))
  }
}
