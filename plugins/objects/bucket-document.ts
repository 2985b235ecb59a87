/** The record of a bucket, and the permitted changes of it. */
import type { Transaction } from 'svc/plugins/storage/api'
import { bucketKey } from 'svc/plugins/storage/api'
import type { Bucket, BucketChange, BucketLock, DueIndex } from './api.ts'
import { objectErrors } from './errors.ts'
import { decodeDocument } from './record.ts'
import type { Tags } from './tags.ts'

export interface BucketDocument {
  readonly createdMs: number
  readonly region: string
  readonly ownerId: string
  readonly tags: Tags
  /** Undefined until versioning is enabled for the first time. */
  readonly versioning?: 'enabled' | 'suspended'
  readonly objectLock?: BucketLock
  /** Undefined: no quota. */
  readonly quotaBytes?: number
  /** Undefined: new versions do not enter the index of due times. */
  readonly dueIndex?: DueIndex
}

const decode = remembering((_name, value) => decodeDocument<BucketDocument>(value))

/** Throws NoSuchBucket. */
export function requireBucket(tx: Transaction, bucket: string): BucketDocument {
  const record = tx.get(bucketKey(bucket))
  if (record === undefined) throw objectErrors.NoSuchBucket(undefined, { extra: { BucketName: bucket } })
  return decode(bucket, record.value)
}

/** The bucket after the change. Throws InvalidBucketState: object lock requires enabled versioning and keeps it enabled. */
export function applyChange(bucket: BucketDocument, change: BucketChange, sequence: number): BucketDocument {
  const { versioning = bucket.versioning, tags = bucket.tags, objectLock = bucket.objectLock } = change
  if (objectLock !== undefined && versioning !== 'enabled') {
    throw objectErrors.InvalidBucketState(
      bucket.objectLock === undefined
        ? "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
        : 'An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.',
    )
  }
  const { quotaBytes = bucket.quotaBytes ?? 0 } = change
  const dueIndex = nextDueIndex(bucket.dueIndex, change.dueIndex, sequence)
  const { quotaBytes: _quota, dueIndex: _index, ...rest } = bucket
  return {
    ...rest,
    tags,
    ...(versioning === undefined ? undefined : { versioning }),
    ...(objectLock === undefined ? undefined : { objectLock }),
    ...(quotaBytes === 0 ? undefined : { quotaBytes }),
    ...(dueIndex === undefined ? undefined : { dueIndex }),
  }
}

/** If the index was turned off and on again in the meantime, it is incomplete, whatever was added before. */
function nextDueIndex(
  now: DueIndex | undefined,
  wanted: BucketChange['dueIndex'],
  sequence: number,
): DueIndex | undefined {
  if (wanted === undefined) return now
  if (wanted === 'off') return undefined
  if (wanted === 'on') return now ?? { since: sequence, isComplete: false }
  return now?.since === wanted.completeSince ? { ...now, isComplete: true } : now
}

export function toBucket(name: string, document: BucketDocument): Bucket {
  const { createdMs, region, ownerId, tags, versioning = 'off', objectLock, quotaBytes, dueIndex } = document
  return { name, createdMs, region, ownerId, tags, versioning, objectLock, quotaBytes, dueIndex }
}

/** Decodes buckets as readers see them. */
export function createBucketReader(): (name: string, value: Uint8Array) => Bucket {
  return remembering((name, value) => toBucket(name, decodeDocument(value)))
}

const bucketsKept = 1000

/**
 * Decodes buckets and keeps the last ones by their bytes. Every request for an object needs its bucket, and comparing bytes costs a tenth of
 * decoding.
 */
function remembering<T>(decode: (name: string, value: Uint8Array) => T): (name: string, value: Uint8Array) => T {
  const known = new Map<string, { readonly bytes: Buffer; readonly decoded: T }>()
  return (name, value) => {
    const kept = known.get(name)
    if (kept?.bytes.equals(value) === true) return kept.decoded
    const decoded = Object.freeze(decode(name, value))
    if (kept === undefined && known.size >= bucketsKept) known.delete(known.keys().next().value!)
    known.set(name, { bytes: Buffer.from(value), decoded })
    return decoded
  }
}
