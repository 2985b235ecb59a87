/**
 * The procedures of objects, which run under the commit lock (`storage.define`). Each checks its preconditions against the very
 * state that it changes, so no other change can come in between. Work that needs no lock (encoding, digests, the final list of
 * parts) is done before, in `objects.ts`.
 *
 * | Subject | Procedure | Condition | Change |
 * |---|---|---|---|
 * | bucket | createBucket | not there | record put |
 * | bucket | changeBucket | there, the change fits its state | record replaced |
 * | bucket | deleteBucket | there, no versions and delete markers, no document keeps it | record deleted where no uploads are left |
 * | object | putObject | bucket there, conditions hold, copy source unchanged, a lock is possible | version added |
 * | object | renameObject | bucket never had versions, source as it was read, conditions hold | record takes another key |
 * | object | deleteObject | bucket there, conditions hold, no lock | version removed, or delete marker added |
 * | objects | deleteObjects | bucket there; conditions and lock per item | as deleteObject, for each item that may |
 * | object | changeVersion | version there, no delete marker, its lock not weakened | record replaced |
 * | upload | createUpload | bucket there, a lock is possible | record put |
 * | upload | encryptUpload | upload there, not encrypted, no parts | record replaced |
 * | upload | changeUpload | upload there, encrypted as it was read | record replaced |
 * | part | putPart | upload there, encrypted if the part is | record replaced |
 * | upload | completeUpload | upload there, each part as it was read, conditions hold | version added, upload and parts deleted |
 * | object | expire | each version as the index of due times said, no lock | version removed, or delete marker added |
 * | object | indexDue | bucket has the index on | records replaced |
 * | upload | abortUpload | upload there | upload and parts deleted |
 *
 * - Each procedure emits the events of its changes at its end: see `events.ts`.
 * - A change that grows a bucket must fit into the bucket's quota: see `quota.ts`.
 * - `versions.ts` adds and removes versions, depending on the bucket's versioning.
 */
import { type Clock, isCatalogError } from 'svc/kernel'
import { bucketKey, type Procedure, storageErrors, type Transaction } from 'svc/plugins/storage/api'
import { deleteBucketDocuments, isBucketKept } from 'svc/plugins/store/api'
import type {
  BucketChange,
  DeleteConditions,
  DeleteItem,
  DeleteOutcome,
  DeleteResult,
  EncryptionChange,
  ObjectEncryption,
  ObjectLock,
  Tags,
  VersionChange,
  WriteConditions,
} from './api.ts'
import { applyChange, type BucketDocument, requireBucket, toBucket } from './bucket-document.ts'
import { requireFields } from './bucket-field.ts'
import { noSuchVersion, objectErrors, onDeleteMarker } from './errors.ts'
import { eventsOfChange, type ObjectEventName, type ObjectEvents, type PackedOrigin } from './events.ts'
import { type ExpireArgs, expire, indexDue } from './expire.ts'
import { counterKey, objectKey, partKey, partRange, uploadKey } from './keys.ts'
import { changeLock, requireLockable } from './locks.ts'
import { requireQuota, usageBefore } from './quota.ts'
import {
  decodeDocument,
  decodeEncryption,
  type EncodedEncryption,
  encodeDeleteMarker,
  encodeDocument,
  encodeEncryption,
  encryptionOf,
  etagOf,
  isDeleteMarker,
  lockOf,
  modifiedOf,
  recordedVersionId,
  sequenceOf,
  sizeOf,
  stampVersion,
  tagsOf,
  withAcl,
  withEncryption,
  withLock,
  withTags,
} from './record.ts'
import { type LostArgs, removeLost, tellLost } from './remove-lost.ts'
import { RemovedBuckets } from './removed-buckets.ts'
import { type RenameArgs, renameObject } from './rename.ts'
import { decodeUsage } from './usage.ts'
import {
  addVersion,
  findBySequence,
  findVersion,
  removeVersion,
  replaceVersion,
  type Stamp,
  shownVersionId,
} from './versions.ts'

export interface UploadDocument {
  readonly startedMs: number
  /** See `packAttributes`. */
  readonly attributes: object
  readonly checksumAlgorithm: string | null
  readonly checksumType: string | null
  readonly isChecksumUnasked?: true
  readonly encryption?: EncodedEncryption | null
  /** The upload's encryption was not requested by the client, but follows from the bucket or from a copy source. */
  readonly isEncryptedUnasked?: true
}

export interface PutObjectArgs {
  readonly bucket: string
  readonly key: string
  /** An encoded version without its stamp (`stampVersion`). */
  readonly value: Uint8Array
  readonly blobs: readonly string[]
  readonly conditions?: WriteConditions
  /** Monotonic time of the request: a bucket that was made since by this name is not written to. Absent: any bucket is. */
  readonly begunNs?: number
  /** The version that shares its blobs with this one. It must be unchanged since it was read; otherwise its blobs may be gone. */
  readonly source?: { readonly bucket: string; readonly key: string; readonly sequence: number }
  readonly event: ObjectEventName
  readonly origin?: PackedOrigin
}

export interface CompleteArgs extends PutObjectArgs {
  readonly uploadId: string
  /** Number and sequence of each part as it was read: the listed parts, then those that the client left out. */
  readonly parts: readonly (readonly [partNumber: number, sequence: number])[]
  /** The sealed data key of the upload as it was read; it becomes the version's key. */
  readonly sealed?: Uint8Array
}

function requireUpload(tx: Transaction, key: Buffer, uploadId: string): void {
  if (tx.get(key) === undefined) throw objectErrors.NoSuchUpload(undefined, { extra: { UploadId: uploadId } })
}

/** Undefined for a delete marker, which is not an object. */
function currentObject(tx: Transaction, newest: Buffer): Uint8Array | undefined {
  const value = tx.get(newest)?.value
  return value === undefined || isDeleteMarker(value) ? undefined : value
}

function requireWriteConditions(tx: Transaction, newest: Buffer, key: string, conditions: WriteConditions): void {
  const value = currentObject(tx, newest)
  if (conditions.ifNoneMatch !== undefined && value !== undefined) {
    throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-None-Match' } })
  }
  if (conditions.ifMatch !== undefined) {
    if (value === undefined) throw objectErrors.NoSuchKey(undefined, { extra: { Key: key } })
    if (conditions.ifMatch !== '*' && conditions.ifMatch !== etagOf(value)) {
      throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
    }
  }
  requireVersion(value, conditions)
}

function requireVersion(
  value: Uint8Array | undefined,
  { ifSequence, ifTags }: Pick<WriteConditions, 'ifSequence' | 'ifTags'>,
): void {
  if (ifSequence !== undefined && (value === undefined || sequenceOf(value) !== ifSequence))
    throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
  if (ifTags !== undefined) requireTags(value && tagsOf(value), ifTags)
}

/** A delete marker has none. */
const shownEtag = (value: Uint8Array): string => (isDeleteMarker(value) ? '' : etagOf(value))

function requireDeleteConditions(value: Uint8Array, conditions: DeleteConditions): void {
  const holds =
    (conditions.ifMatch === undefined || conditions.ifMatch === '*' || conditions.ifMatch === shownEtag(value)) &&
    (conditions.ifMatchSize === undefined || conditions.ifMatchSize === sizeOf(value)) &&
    // HTTP dates have a resolution of one second.
    (conditions.ifMatchModifiedMs === undefined ||
      Math.floor(conditions.ifMatchModifiedMs / 1000) === Math.floor(modifiedOf(value) / 1000))
  if (!holds) throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
  requireVersion(value, conditions)
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
  // A new bucket never has documents of a former bucket of this name. There should be none.
  deleteBucketDocuments(tx, args.name)
  tx.put(key, encodeDocument({ createdMs: tx.nowMs, ...args.document }))
  return { createdMs: tx.nowMs }
}

const changeBucket = (tx: Transaction, args: { name: string; change: BucketChange }): BucketDocument => {
  const present = requireBucket(tx, args.name)
  requireFields(toBucket(args.name, present), args.change.ifMatch)
  const changed = applyChange(present, args.change, tx.sequence)
  tx.put(bucketKey(args.name), encodeDocument(changed))
  return changed
}

/** Uploads in progress end with their bucket, as at AWS. While there are any the bucket stays, and their number is returned. */
const deleteBucket = (tx: Transaction, args: { name: string }, { removed, clock }: CommitState) => {
  requireBucket(tx, args.name)
  const usage = decodeUsage(tx.counter(counterKey(args.name)))
  if (usage.versions + usage.deleteMarkers > 0)
    throw objectErrors.BucketNotEmpty(undefined, { extra: { BucketName: args.name } })
  if (isBucketKept(tx, args.name)) throw objectErrors.BucketInUse(undefined, { extra: { BucketName: args.name } })
  if (usage.uploads === 0) {
    deleteBucketDocuments(tx, args.name)
    tx.delete(bucketKey(args.name))
    removed.add(args.name, Number(clock.monotonicNs()))
  }
  return { uploads: usage.uploads }
}

const putObject = (
  tx: Transaction,
  args: PutObjectArgs,
  body: Uint8Array | undefined,
  { events, removed }: CommitState,
): Stamp => {
  const newest = objectKey(args.bucket, args.key)
  const bucket = requireBucket(tx, args.bucket)
  if (args.begunNs !== undefined && removed.isRemovedSince(args.bucket, args.begunNs))
    throw objectErrors.NoSuchBucket(undefined, { extra: { BucketName: args.bucket } })
  requireLockable(bucket, lockOf(args.value), tx.nowMs)
  if (args.conditions !== undefined) requireWriteConditions(tx, newest, args.key, args.conditions)
  if (args.source !== undefined) {
    const { source } = args
    if (findBySequence(tx, objectKey(source.bucket, source.key), source.sequence) === undefined) {
      // The client's retry reads the new source and evaluates its conditions on it.
      throw storageErrors.gone('The copy source changed while it was copied.')
    }
  }
  const data = body === undefined ? { blobs: args.blobs } : { body }
  const before = usageBefore(tx, args.bucket, bucket)
  const stamp = addVersion(tx, bucket, newest, args.value, data)
  requireQuota(tx, args.bucket, bucket, before)
  tellCreated(tx, args, newest, stamp, events)
  return stamp
}

function tellCreated(
  tx: Transaction,
  { event, bucket, key, origin }: PutObjectArgs,
  newest: Buffer,
  { versionId }: Stamp,
  events: ObjectEvents,
): void {
  if (events.wants(bucket)) events.tell(tx, { name: event, bucket, key, versionId }, origin, tx.get(newest)!.value)
}

export interface DeleteObjectArgs extends DeleteItem {
  readonly bucket: string
  readonly origin?: PackedOrigin
}

const deleteObject = (tx: Transaction, args: DeleteObjectArgs, events: ObjectEvents): DeleteResult => {
  const bucket = requireBucket(tx, args.bucket)
  const result = deleteIn(tx, args.bucket, bucket, args)
  if (events.wants(args.bucket)) tellDeleted(tx, args, bucket, args, result, events)
  return result
}

/** Emits the event of a delete, unless nothing was deleted: `DeleteMarkerCreated` for a new delete marker, else `Delete`. */
function tellDeleted(
  tx: Transaction,
  { bucket, origin }: { readonly bucket: string; readonly origin?: PackedOrigin },
  { versioning }: BucketDocument,
  item: DeleteItem,
  { existed, isDeleteMarker: isMarker, versionId }: DeleteResult,
  events: ObjectEvents,
): void {
  const isMade = isMarker && item.versionId === undefined
  if (!existed && !isMade) return
  const name = isMade ? 'ObjectRemoved:DeleteMarkerCreated' : 'ObjectRemoved:Delete'
  const shownId = versioning === undefined ? undefined : versionId
  events.tell(tx, { name, bucket, key: item.key, versionId: shownId }, origin)
}

export interface DeleteObjectsArgs {
  readonly bucket: string
  /** Each key at most once, because one commit can add only one version to a key. */
  readonly items: readonly DeleteItem[]
  readonly origin?: PackedOrigin
}

const deleteObjects = (tx: Transaction, args: DeleteObjectsArgs, events: ObjectEvents): DeleteOutcome[] => {
  const { bucket: name, items } = args
  const bucket = requireBucket(tx, name)
  const isTold = events.wants(name)
  return items.map(item => {
    let result: DeleteResult
    try {
      result = deleteIn(tx, name, bucket, item)
    } catch (error) {
      // Errors with an S3 code are thrown before anything is changed, so they concern this item only. Any other error rolls back
      // the whole commit.
      if (!isCatalogError(error) || error.status >= 500) throw error
      return { failed: { code: error.code, message: error.title ?? error.message } }
    }
    if (isTold) tellDeleted(tx, args, bucket, item, result, events)
    return result
  })
}

/** Throws catalogue errors before it makes any change. */
function deleteIn(tx: Transaction, bucketName: string, bucket: BucketDocument, item: DeleteItem): DeleteResult {
  const { versionId, conditions } = item
  const newest = objectKey(bucketName, item.key)
  if (versionId !== undefined) {
    const found = findVersion(tx, newest, versionId)
    if (found === undefined) return { existed: false, versionId, isDeleteMarker: false }
    if (conditions !== undefined) requireDeleteConditions(found.record.value, conditions)
    const isMarker = isDeleteMarker(found.record.value)
    removeVersion(tx, bucket, newest, found, item.bypassGovernance === true)
    return { existed: true, versionId, isDeleteMarker: isMarker }
  }
  const current = currentObject(tx, newest)
  const existed = current !== undefined
  if (conditions !== undefined) {
    if (!existed) return { existed, versionId: undefined, isDeleteMarker: false }
    requireDeleteConditions(current, conditions)
  }
  if (bucket.versioning === undefined) {
    if (existed) tx.delete(newest)
    return { existed, versionId: undefined, isDeleteMarker: false }
  }
  const stamp = addVersion(tx, bucket, newest, encodeDeleteMarker(), {})
  return { existed, versionId: stamp.versionId, isDeleteMarker: true }
}

export interface ChangeVersionArgs {
  readonly bucket: string
  readonly key: string
  readonly versionId: string | undefined
  readonly change: VersionChange
  readonly origin?: PackedOrigin
}

const changeVersion = (tx: Transaction, args: ChangeVersionArgs, events: ObjectEvents): string => {
  const { versionId, change } = args
  const bucket = requireBucket(tx, args.bucket)
  const found = findVersion(tx, objectKey(args.bucket, args.key), versionId)
  if (found === undefined) throw noSuchVersion(args.key, versionId)
  let { value } = found.record
  const id = recordedVersionId(value)
  if (isDeleteMarker(value)) throw onDeleteMarker(id)
  requireTags(tagsOf(value), change.ifTags)
  if (change.tags !== undefined) value = withTags(value, change.tags)
  if (change.acl !== undefined) value = withAcl(value, change.acl)
  if (change.retention !== undefined || change.legalHold !== undefined) {
    value = withLock(value, changeLock(bucket, lockOf(value), change, tx.nowMs))
  }
  if (change.encryption !== undefined)
    value = withEncryption(value, requireSame(encryptionOf(value), change.encryption))
  replaceVersion(tx, found, value)
  if (events.wants(args.bucket)) {
    const place = { bucket: args.bucket, key: args.key, versionId: shownVersionId(bucket, value) }
    for (const name of eventsOfChange(change)) events.tell(tx, { ...place, name }, args.origin, value)
  }
  return id
}

/** Throws unless these are the expected tags. Their order does not matter. */
function requireTags(present: Tags = new Map(), expected: Tags | undefined): void {
  if (expected === undefined) return
  const isSame = present.size === expected.size && [...expected].every(([name, value]) => present.get(name) === value)
  if (!isSame) throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
}

/** Throws unless the data key is still the one that was sealed again. */
function requireSame(present: ObjectEncryption | undefined, change: EncryptionChange): ObjectEncryption {
  requireSealed(present, change.from)
  return change.to
}

function requireSealed(present: ObjectEncryption | undefined, sealed: Uint8Array): void {
  if (present?.sealed.equals(sealed) !== true)
    throw storageErrors.gone('The data key was sealed again by another request meanwhile. Try again.')
}

const changeUpload = (
  tx: Transaction,
  args: { bucket: string; key: string; uploadId: string; encryption: EncryptionChange },
) => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  const document = decodeDocument<UploadDocument>(tx.get(upload)!.value)
  const encryption = encodeEncryption(requireSame(decodeEncryption(document.encryption), args.encryption))
  tx.put(upload, encodeDocument({ ...document, encryption }))
}

/** Makes an upload without parts encrypted, unless it already is. */
const encryptUpload = (
  tx: Transaction,
  args: { bucket: string; key: string; uploadId: string; encryption: UploadDocument['encryption'] },
) => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  const document = decodeDocument<UploadDocument>(tx.get(upload)!.value)
  // Another part has encrypted the upload first.
  if (document.encryption !== undefined) return
  if (tx.first(...partRange(args.bucket, args.uploadId)) !== undefined) {
    throw objectErrors.InvalidRequest(
      'The source of this part is encrypted, but the existing parts of the upload are not. Begin the upload with x-amz-server-side-encryption.',
    )
  }
  tx.put(upload, encodeDocument({ ...document, encryption: args.encryption, isEncryptedUnasked: true }))
}

const createUpload = (
  tx: Transaction,
  args: { bucket: string; key: string; nonce: string; document: Omit<UploadDocument, 'startedMs'> },
) => {
  const { lock } = args.document.attributes as { readonly lock?: ObjectLock }
  requireLockable(requireBucket(tx, args.bucket), lock, tx.nowMs)
  // The sequence comes first, so that the uploads of one key sort by start time.
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
): { readonly modifiedMs: number } => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  const isEncrypted = decodeDocument<UploadDocument>(tx.get(upload)!.value).encryption !== undefined
  if (isEncrypted !== (encryptionOf(args.value) !== undefined)) {
    throw storageErrors.unavailable(
      'The upload has become encrypted since this part was sent. Please send the part again.',
    )
  }
  stampVersion(args.value, tx, false, false)
  const bucket = requireBucket(tx, args.bucket)
  const before = usageBefore(tx, args.bucket, bucket)
  tx.put(partKey(args.bucket, args.uploadId, args.partNumber), args.value, { blobs: args.blobs })
  requireQuota(tx, args.bucket, bucket, before)
  return { modifiedMs: tx.nowMs }
}

const completeUpload = (tx: Transaction, args: CompleteArgs, events: ObjectEvents): Stamp => {
  const upload = uploadKey(args.bucket, args.key, args.uploadId)
  requireUpload(tx, upload, args.uploadId)
  if (args.sealed !== undefined) {
    const document = decodeDocument<UploadDocument>(tx.get(upload)!.value)
    requireSealed(decodeEncryption(document.encryption), args.sealed)
  }
  for (const [partNumber, sequence] of args.parts) {
    const part = tx.get(partKey(args.bucket, args.uploadId, partNumber))
    if (part === undefined || sequenceOf(part.value) !== sequence) {
      throw objectErrors.InvalidPart(`Part ${partNumber} was replaced while the upload was completed.`)
    }
  }
  const newest = objectKey(args.bucket, args.key)
  const bucket = requireBucket(tx, args.bucket)
  if (args.conditions !== undefined) requireWriteConditions(tx, newest, args.key, args.conditions)
  // The retention given at the start of the upload may have expired since. The upload must still be completable, so this is not
  // checked.
  const before = usageBefore(tx, args.bucket, bucket)
  const stamped = addVersion(tx, bucket, newest, args.value, { blobs: args.blobs })
  removeParts(
    tx,
    args.bucket,
    args.uploadId,
    args.parts.map(([partNumber]) => partNumber),
  )
  tx.delete(upload)
  requireQuota(tx, args.bucket, bucket, before)
  tellCreated(tx, args, newest, stamped, events)
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

/** What procedures use besides the records. */
interface CommitState {
  readonly events: ObjectEvents
  readonly clock: Pick<Clock, 'monotonicNs'>
  readonly removed: RemovedBuckets
}

export function createProcedures({ events, clock }: Omit<CommitState, 'removed'>): Readonly<Record<string, Procedure>> {
  const state: CommitState = { events, clock, removed: new RemovedBuckets() }
  return {
    'objects.createBucket': createBucket,
    'objects.changeBucket': changeBucket,
    'objects.deleteBucket': (tx, args: { name: string }) => deleteBucket(tx, args, state),
    'objects.putObject': (tx, args: PutObjectArgs, body) => putObject(tx, args, body, state),
    'objects.renameObject': (tx, args: RenameArgs) => renameObject(tx, args, events),
    'objects.deleteObject': (tx, args: DeleteObjectArgs) => deleteObject(tx, args, events),
    'objects.deleteObjects': (tx, args: DeleteObjectsArgs) => deleteObjects(tx, args, events),
    'objects.changeVersion': (tx, args: ChangeVersionArgs) => changeVersion(tx, args, events),
    'objects.createUpload': createUpload,
    'objects.changeUpload': changeUpload,
    'objects.encryptUpload': encryptUpload,
    'objects.putPart': putPart,
    'objects.completeUpload': (tx, args: CompleteArgs) => completeUpload(tx, args, events),
    'objects.abortUpload': abortUpload,
    'objects.expire': (tx, args: ExpireArgs) => expire(tx, args, events),
    'objects.indexDue': indexDue,
    'objects.removeLost': (tx, args: LostArgs) => removeLost(tx, args, events),
    'objects.tellLost': (tx, args: LostArgs) => tellLost(tx, args, events),
  }
}
