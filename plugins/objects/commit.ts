/**
 * What happens under the commit lock. Each procedure checks its preconditions against the state that it changes, so that
 * nothing can come between; what can be computed before (encoding, digests, the final list of parts) is computed before.
 *
 * | Subject | Procedure | Condition | Change |
 * |---|---|---|---|
 * | bucket | createBucket | not there | record put |
 * | bucket | deleteBucket | there, all counters zero | record deleted |
 * | object | putObject | bucket there, conditions hold, copy source unchanged | record replaced |
 * | object | deleteObject | bucket there, conditions hold | record deleted if there |
 * | upload | createUpload | bucket there | record put |
 * | part | putPart | upload there | record replaced |
 * | upload | completeUpload | upload there, each part as it was read, conditions hold | object put, upload and parts deleted |
 * | upload | abortUpload | upload there | upload and parts deleted |
 */
import { type Procedure, storageErrors, type Transaction } from 'svc/plugins/storage/api'
import type { DeleteConditions, WriteConditions } from './api.ts'
import { objectErrors } from './errors.ts'
import { bucketKey, counterKey, objectKey, partKey, partRange, uploadKey } from './keys.ts'
import { decodeDocument, encodeDocument, etagOf, modifiedOf, sequenceOf, sizeOf, stampVersion } from './record.ts'
import { decodeUsage } from './usage.ts'

export interface BucketDocument {
  readonly createdMs: number
  readonly region: string
  readonly ownerId: string
  readonly tags: Record<string, string>
}

export interface UploadDocument {
  readonly startedMs: number
  readonly attributes: unknown
  readonly checksumAlgorithm: string | null
  readonly checksumType: string | null
}

export interface PutObjectArgs {
  readonly bucket: string
  readonly key: string
  /** An encoded version, to be stamped. */
  readonly value: Uint8Array
  readonly blobs: readonly string[]
  readonly conditions?: WriteConditions
  /** The version that blobs are shared with: it must still be the one that was read, or its blobs may be gone. */
  readonly source?: { readonly bucket: string; readonly key: string; readonly sequence: number }
}

export interface CompleteArgs extends PutObjectArgs {
  readonly uploadId: string
  /** Number and sequence of each part as it was read; the listed ones first, then those that the client left out. */
  readonly parts: readonly (readonly [partNumber: number, sequence: number])[]
}

export interface Stamp {
  readonly modifiedMs: number
  readonly sequence: number
}

function requireBucket(tx: Transaction, bucket: string): void {
  if (tx.get(bucketKey(bucket)) === undefined)
    throw objectErrors.NoSuchBucket(undefined, { extra: { BucketName: bucket } })
}

function requireUpload(tx: Transaction, key: Buffer, uploadId: string): void {
  if (tx.get(key) === undefined) throw objectErrors.NoSuchUpload(undefined, { extra: { UploadId: uploadId } })
}

function requireWriteConditions(tx: Transaction, current: Buffer, key: string, conditions: WriteConditions): void {
  const record = tx.get(current)
  if (conditions.ifNoneMatch !== undefined && record !== undefined) {
    throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-None-Match' } })
  }
  if (conditions.ifMatch !== undefined) {
    if (record === undefined) throw objectErrors.NoSuchKey(undefined, { extra: { Key: key } })
    if (conditions.ifMatch !== '*' && conditions.ifMatch !== etagOf(record.value)) {
      throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
    }
  }
}

function stamp(tx: Transaction, value: Uint8Array): Stamp {
  stampVersion(value, tx.nowMs, tx.sequence)
  return { modifiedMs: tx.nowMs, sequence: tx.sequence }
}

function removeParts(tx: Transaction, bucket: string, uploadId: string, known: readonly number[]): void {
  for (const partNumber of known) tx.delete(partKey(bucket, uploadId, partNumber))
  const [start, end] = partRange(bucket, uploadId)
  for (let late = tx.first(start, end); late !== undefined; late = tx.first(start, end))
    tx.delete(Buffer.from(late.key))
}

const createBucket = (tx: Transaction, args: { name: string; document: Omit<BucketDocument, 'createdMs'> }) => {
  const key = bucketKey(args.name)
  const existing = tx.get(key)
  if (existing !== undefined) {
    const { ownerId } = decodeDocument<BucketDocument>(existing.value)
    const error = ownerId === args.document.ownerId ? 'BucketAlreadyOwnedByYou' : 'BucketAlreadyExists'
    throw objectErrors[error](undefined, { extra: { BucketName: args.name } })
  }
  tx.put(key, encodeDocument({ createdMs: tx.nowMs, ...args.document }))
  return { createdMs: tx.nowMs }
}

const deleteBucket = (tx: Transaction, args: { name: string }) => {
  requireBucket(tx, args.name)
  const usage = decodeUsage(tx.counter(counterKey(args.name)))
  if (usage.versions + usage.deleteMarkers > 0)
    throw objectErrors.BucketNotEmpty(undefined, { extra: { BucketName: args.name } })
  if (usage.uploads > 0) {
    throw objectErrors.BucketNotEmpty('The bucket has multipart uploads in progress: complete or abort them first.', {
      extra: { BucketName: args.name },
    })
  }
  tx.delete(bucketKey(args.name))
}

const putObject = (tx: Transaction, args: PutObjectArgs, body: Uint8Array | undefined): Stamp => {
  const key = objectKey(args.bucket, args.key)
  requireBucket(tx, args.bucket)
  if (args.conditions !== undefined) requireWriteConditions(tx, key, args.key, args.conditions)
  if (args.source !== undefined) {
    const source = tx.get(objectKey(args.source.bucket, args.source.key))
    if (source === undefined || sequenceOf(source.value) !== args.source.sequence) {
      // The client's next try reads the new source, and evaluates its conditions on it.
      throw storageErrors.gone('The copy source changed while it was copied.')
    }
  }
  const stamped = stamp(tx, args.value)
  tx.put(key, args.value, body === undefined ? { blobs: args.blobs } : { body })
  return stamped
}

const deleteObject = (tx: Transaction, args: { bucket: string; key: string; conditions?: DeleteConditions }) => {
  const key = objectKey(args.bucket, args.key)
  const record = tx.get(key)
  if (record === undefined) {
    requireBucket(tx, args.bucket)
    return { existed: false }
  }
  const { conditions } = args
  if (conditions !== undefined) {
    const { value } = record
    const holds =
      (conditions.ifMatch === undefined || conditions.ifMatch === '*' || conditions.ifMatch === etagOf(value)) &&
      (conditions.ifMatchSize === undefined || conditions.ifMatchSize === sizeOf(value)) &&
      // An HTTP date has whole seconds.
      (conditions.ifMatchModifiedMs === undefined ||
        Math.floor(conditions.ifMatchModifiedMs / 1000) === Math.floor(modifiedOf(value) / 1000))
    if (!holds) throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
  }
  tx.delete(key)
  return { existed: true }
}

const createUpload = (
  tx: Transaction,
  args: { bucket: string; key: string; nonce: string; document: Omit<UploadDocument, 'startedMs'> },
) => {
  requireBucket(tx, args.bucket)
  // The sequence comes first, so that uploads of one key sort by their beginning.
  const uploadId = tx.sequence.toString(16).padStart(14, '0') + args.nonce
  tx.put(uploadKey(args.bucket, args.key, uploadId), encodeDocument({ startedMs: tx.nowMs, ...args.document }))
  return { uploadId, startedMs: tx.nowMs }
}

const putPart = (
  tx: Transaction,
  args: {
    bucket: string
    key: string
    uploadId: string
    partNumber: number
    value: Uint8Array
    blobs: readonly string[]
  },
): Stamp => {
  requireUpload(tx, uploadKey(args.bucket, args.key, args.uploadId), args.uploadId)
  const stamped = stamp(tx, args.value)
  tx.put(partKey(args.bucket, args.uploadId, args.partNumber), args.value, { blobs: args.blobs })
  return stamped
}

const completeUpload = (tx: Transaction, args: CompleteArgs): Stamp => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  for (const [partNumber, sequence] of args.parts) {
    const part = tx.get(partKey(args.bucket, args.uploadId, partNumber))
    if (part === undefined || sequenceOf(part.value) !== sequence) {
      throw objectErrors.InvalidPart(`Part ${partNumber} was replaced while the upload was completed.`)
    }
  }
  const stamped = putObject(tx, args, undefined)
  removeParts(
    tx,
    args.bucket,
    args.uploadId,
    args.parts.map(([partNumber]) => partNumber),
  )
  tx.delete(upload)
  return stamped
}

const abortUpload = (
  tx: Transaction,
  args: { bucket: string; key: string; uploadId: string; partNumbers: readonly number[] },
) => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  removeParts(tx, args.bucket, args.uploadId, args.partNumbers)
  tx.delete(upload)
}

export const procedures: Readonly<Record<string, Procedure>> = {
  'objects.createBucket': createBucket,
  'objects.deleteBucket': deleteBucket,
  'objects.putObject': putObject,
  'objects.deleteObject': deleteObject,
  'objects.createUpload': createUpload,
  'objects.putPart': putPart,
  'objects.completeUpload': completeUpload,
  'objects.abortUpload': abortUpload,
}
