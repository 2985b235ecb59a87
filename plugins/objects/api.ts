/**
 * The face of the plugin `objects`: buckets, objects, versions and multipart uploads over `storage`. S3's rules about data are
 * implemented here; its wire format is in `s3` and the operation plugins. Names follow S3. Sizes are in bytes, times in
 * milliseconds since 1970, ETags without quotes.
 */
import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type { ChecksumAlgorithm, ChecksumType, ChecksumValue } from 'svc/plugins/checksums/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { ExpectedFields } from './bucket-field.ts'
import type { ChangeOrigin, ObjectObserver } from './events.ts'
import type { Tags } from './tags.ts'
import type { EncryptionRequest, ObjectEncryption } from './transform.ts'

export { type BucketField, etagOfField } from './bucket-field.ts'
export { requireNewBucketName } from './bucket-name.ts'
export { invalidBucketName, objectErrors, onDeleteMarker, whyHopeless } from './errors.ts'
export {
  type ChangeOrigin,
  changeOrigin,
  type ObjectEvent,
  type ObjectEventName,
  type ObjectObserver,
} from './events.ts'
export { ExistingTags } from './existing-tags.ts'
export { keyBytesMax, keyNormalizer, requireKeyLength } from './object-keys.ts'
export { dataIdOf, recordedVersionId } from './record.ts'
export { type RecordFeature, recordFeatures } from './record-features.ts'
export { placeOfRecord, type RecordPlace, recordRanges } from './record-places.ts'
export { noTags, type Tags } from './tags.ts'
export type {
  EncryptionRequest,
  ObjectEncryption,
  ObjectPlace,
  ObjectTransform,
  TransformedVersion,
  WriteTransform,
} from './transform.ts'
export { eachInTurns, mapInTurns, someInTurns } from './turns.ts'
export { isProtecting } from './versions.ts'

export interface Bucket {
  readonly name: string
  readonly createdMs: number
  readonly region: string
  readonly ownerId: string
  readonly tags: Tags
  readonly versioning: Versioning
  /** Undefined without object lock. Once set, it stays, and versioning stays enabled. */
  readonly objectLock: BucketLock | undefined
  /** Limit for the bytes of all versions and upload parts together. Undefined: no limit. */
  readonly quotaBytes: number | undefined
  /** Undefined: new versions do not enter the index of due times. */
  readonly dueIndex: DueIndex | undefined
}

export interface DueIndex {
  /** Sequence of the commit that turned the index on. Every version written later is in it. */
  readonly since: number
  /** Whether the versions written before are in it, too. */
  readonly isComplete: boolean
}

/** `off`: never enabled. A bucket never returns to `off`. */
export type Versioning = 'off' | 'enabled' | 'suspended'

export interface BucketLock {
  /** Retention of new versions that request none. Exactly one of `days` and `years`, at least 1. */
  readonly defaultRetention?: {
    readonly mode: RetentionMode
    readonly days?: number
    readonly years?: number
  }
}

export type RetentionMode = 'GOVERNANCE' | 'COMPLIANCE'

export interface Retention {
  readonly mode: RetentionMode
  /** The version cannot be deleted before this time. */
  readonly retainUntilMs: number
}

/** Retention and legal hold, which protect a version from deletion. */
export interface ObjectLock {
  readonly retention?: Retention
  /** Undefined: never set. */
  readonly legalHold?: boolean
}

/** Fields that are absent stay unchanged. */
export interface BucketChange {
  /** Refused (PreconditionFailed) unless the present settings have these ETags: no other change since they were read is undone. */
  readonly ifMatch?: ExpectedFields
  /** `suspended` is refused (InvalidBucketState) in a bucket with object lock. */
  readonly versioning?: 'enabled' | 'suspended'
  readonly tags?: Tags
  /** Replaces the whole configuration. Refused (InvalidBucketState) unless versioning is enabled. */
  readonly objectLock?: BucketLock
  /** 0 removes the quota. A quota below the current usage only refuses changes that increase it. */
  readonly quotaBytes?: number
  /**
   * `on` changes nothing if it is on. `completeSince`: marks the index complete if its `since` is still this one, after
   * `indexDue` has added all versions.
   */
  readonly dueIndex?: 'on' | 'off' | { readonly completeSince: number }
}

/** A change of one version's record in place: its bytes, ETag and modification time stay. Absent fields stay unchanged. */
export interface VersionChange {
  readonly tags?: Tags
  /** Refused (PreconditionFailed) unless the present tags are these: no other change since they were read is undone. */
  readonly ifTags?: Tags
  /** `null`: the owner's list. */
  readonly acl?: CannedAcl | null
  readonly legalHold?: boolean
  /** `null` removes it. */
  readonly retention?: Retention | null
  readonly encryption?: EncryptionChange
  /** Permits shortening and removing retention in GOVERNANCE mode. */
  readonly bypassGovernance?: boolean
}

/** The same data key, sealed differently. Refused (`gone`) if the stored key is not `from` any more. */
export interface EncryptionChange {
  /** `sealed` as it was read. */
  readonly from: Uint8Array
  readonly to: ObjectEncryption
}

/** An encrypted version or upload. */
export interface EncryptedEntry {
  readonly key: string
  /** Set for an upload, which has no version id. */
  readonly uploadId: string | undefined
  readonly versionId: string | undefined
  readonly encryption: ObjectEncryption
}

export interface EncryptedPage {
  readonly entries: readonly EncryptedEntry[]
  /** Undefined at the end. A page before the end may be empty. */
  readonly next: Buffer | undefined
}

export interface BucketUsage {
  readonly objects: number
  readonly versions: number
  readonly deleteMarkers: number
  /** Of all versions. */
  readonly sizeBytes: number
  /** Uploads that are not completed, and the bytes of their parts. */
  readonly uploads: number
  readonly uploadBytes: number
}

/** System metadata that S3 stores and returns unchanged; undefined if the client sent none. */
export interface SystemMetadata {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentDisposition?: string
  readonly contentLanguage?: string
  readonly cacheControl?: string
  readonly expires?: string
  readonly websiteRedirectLocation?: string
}

/**
 * The access control lists that grant something to others than the owner. Source: AWS S3 User Guide, "Canned ACL". A list is stored by
 * its name; it counts only where lists are on in the bucket.
 */
export type CannedAcl = 'public-read' | 'public-read-write' | 'authenticated-read'

export interface ObjectAttributes {
  readonly system: SystemMetadata
  /** `x-amz-meta-…` headers, by lower-case name without the prefix. */
  readonly user: Readonly<Record<string, string>>
  readonly storageClass: string
  readonly tags?: Tags
  readonly lock?: ObjectLock
  /** Undefined: the owner's list. */
  readonly acl?: CannedAcl
  /** For writes: how to encrypt the bytes. Never stored; `ObjectVersion.encryption` is the stored result. */
  readonly encryptionRequest?: EncryptionRequest
}

export interface ObjectPart {
  readonly partNumber: number
  readonly sizeBytes: number
  readonly checksum: ChecksumValue | undefined
}

/** One version of an object, as stored. */
export interface ObjectVersion extends ObjectAttributes {
  readonly bucket: string
  readonly key: string
  /** The string `null` for the null version. */
  readonly versionId: string
  readonly isDeleteMarker: boolean
  readonly sizeBytes: number
  readonly etag: string
  readonly modifiedMs: number
  /** Of the commit that wrote it: with bucket and key it names the bytes for ever. */
  readonly sequence: number
  readonly checksum: ChecksumValue | undefined
  /** Parts of a completed multipart upload, in order; empty otherwise. */
  readonly parts: readonly ObjectPart[]
  readonly encryption?: ObjectEncryption
}

/** The fields of an object in a listing. */
export interface ObjectSummary {
  readonly key: string
  readonly sizeBytes: number
  readonly etag: string
  readonly modifiedMs: number
  readonly storageClass: string
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly checksumType: ChecksumType | undefined
  /** Only `withDetails`, like the type of the content. The string `null` for the null version. */
  readonly versionId?: string
  readonly contentType?: string | undefined
}

export interface VersionSummary extends ObjectSummary {
  /** The string `null` for the null version. */
  readonly versionId: string
  readonly isLatest: boolean
  readonly isDeleteMarker: boolean
}

/** Conditions on the current version, evaluated in the commit. A delete marker counts as no object. */
export interface WriteConditions {
  /** The current ETag must be this one (`*`: any). No object: NoSuchKey; another ETag: PreconditionFailed. */
  readonly ifMatch?: string
  /** `*`: there must be no object. */
  readonly ifNoneMatch?: '*'
  /** Of `ObjectVersion`: the current one must be this. */
  readonly ifSequence?: number
  readonly ifTags?: Tags
}

/** Conditions of a rename, on its source or on its destination. Times count in whole seconds. */
export interface RenameConditions {
  /** The ETag must be this one (`*`: any). */
  readonly ifMatch?: string
  /** The ETag must not be this one (`*`: there must be no object). */
  readonly ifNoneMatch?: string
  /** An object must exist and be newer. Ignored if `ifNoneMatch` is given. */
  readonly ifModifiedSinceMs?: number
  /** No newer object may exist. Ignored if `ifMatch` is given. */
  readonly ifUnmodifiedSinceMs?: number
}

/** Conditions on the named version, or on the current one. Without such a version nothing is deleted. */
export interface DeleteConditions {
  /** The ETag (`*`: any); empty: a delete marker. */
  readonly ifMatch?: string
  readonly ifMatchSize?: number
  readonly ifMatchModifiedMs?: number
  /** Of `ObjectVersion`. */
  readonly ifSequence?: number
  readonly ifTags?: Tags
}

/** The unwrapped payload of a request. `consume` rejects if its signature, digest, framing or length is wrong. */
export interface Body {
  /** Decoded length, if announced by the client. */
  readonly sizeBytes: number | undefined
  /**
   * Passes every byte to the sink, in order. The sink's promise applies back-pressure. A chunk is valid only until the sink, or
   * its promise, is done.
   */
  consume(sink: (chunk: Buffer) => MaybePromise<void>): Promise<void>
  /**
   * The digests that the client expects, which the object service compares; complete only after `consume`, since trailers come
   * last.
   */
  expectedDigests(): ExpectedDigests
}

export interface ExpectedDigests {
  /** Raw 16 bytes of Content-MD5. */
  readonly md5: Buffer | undefined
  readonly checksum: { readonly algorithm: ChecksumAlgorithm; readonly value: Buffer } | undefined
}

export interface PutRequest {
  readonly bucket: string
  readonly key: string
  readonly attributes: ObjectAttributes
  readonly body: Body
  /** A longer body is EntityTooLarge. Default and maximum: 5 GiB. */
  readonly bytesMax?: number
  /** The checksum to compute beside the ETag; known before the body. Default: CRC64NVME. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly conditions?: WriteConditions
  /** The cause in the event name. Default: `Put`. */
  readonly cause?: 'Put' | 'Post'
  readonly origin?: ChangeOrigin
}

export interface PutResult {
  readonly etag: string
  /** Undefined while versioning has never been enabled. */
  readonly versionId: string | undefined
  readonly sizeBytes: number
  readonly modifiedMs: number
  readonly checksum: ChecksumValue | undefined
  /** The tags as stored. */
  readonly tags: ObjectAttributes['tags']
  readonly encryption?: ObjectEncryption
}

/**
 * A copy without an encryption request, in a bucket without a default, is encrypted as its source, except with a customer's key.
 */
export interface CopyRequest {
  readonly source: ObjectVersion
  /** The customer's key of the source, if it is encrypted with one. */
  readonly sourceCustomerKey?: KeyObject
  readonly bucket: string
  readonly key: string
  readonly attributes: ObjectAttributes
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly conditions?: WriteConditions
  readonly origin?: ChangeOrigin
}

export interface RenameRequest {
  readonly bucket: string
  readonly key: string
  readonly sourceKey: string
  /**
   * The source for which the caller was authorized. The commit refuses (`gone`) if it has been replaced or has other tags.
   * Undefined if there was none; then only a repeated request succeeds.
   */
  readonly source: ObjectVersion | undefined
  readonly sourceConditions?: RenameConditions
  /** Conditions on the object that would be replaced. */
  readonly conditions?: RenameConditions
  /**
   * Makes the request idempotent: the same token with the same request succeeds without a change for at least 24 hours; with
   * another request it is refused.
   */
  readonly clientToken?: string
  readonly origin?: ChangeOrigin
}

export interface DeleteResult {
  /** False if there was nothing to delete, which is no error in S3. */
  readonly existed: boolean
  /** Id of the deleted version, or of the new delete marker. Undefined while versioning has never been enabled. */
  readonly versionId: string | undefined
  /** Whether a delete marker was created or deleted. */
  readonly isDeleteMarker: boolean
}

/** One item of a bulk delete. */
export interface DeleteItem {
  readonly key: string
  readonly versionId?: string
  readonly conditions?: DeleteConditions
  readonly bypassGovernance?: boolean
}

/** The result of one item. An error of one item does not affect the others. */
export type DeleteOutcome = DeleteResult | { readonly failed: { readonly code: string; readonly message: string } }

export interface ListRequest {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  /** Only keys after this one, in UTF-8 byte order. Empty: from the start. */
  readonly startAfter: string
  readonly maxKeys: number
  /** Objects come with what S3's listings do not say; it costs decoding each. */
  readonly withDetails?: boolean
}

export interface Listing {
  readonly objects: readonly ObjectSummary[]
  readonly prefixes: readonly string[]
  /** The last key or common prefix of the page, to be passed as `startAfter`. Undefined when the listing is complete. */
  readonly next: string | undefined
}

export interface ListVersionsRequest {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  /** Only keys after this one; with `versionIdMarker`, also the older versions of this key. */
  readonly keyMarker: string
  readonly versionIdMarker: string
  readonly maxKeys: number
  readonly withDetails?: boolean
}

export interface VersionListing {
  /** By key, newest version first, delete markers included. */
  readonly versions: readonly VersionSummary[]
  readonly prefixes: readonly string[]
  readonly isTruncated: boolean
  readonly nextKeyMarker: string
  /** Empty if the page ends with a common prefix. */
  readonly nextVersionIdMarker: string
}

export interface Upload {
  readonly bucket: string
  readonly key: string
  readonly uploadId: string
  readonly startedMs: number
  readonly attributes: ObjectAttributes
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly checksumType: ChecksumType | undefined
  /** The client named no algorithm: S3 says nothing of checksums while the upload is in progress. */
  readonly isChecksumUnasked?: boolean
  readonly encryption?: ObjectEncryption
  /** The client requested no encryption: it follows from the bucket's default or from a part's source. */
  readonly isEncryptedUnasked?: boolean
  /** Key of the current request, which is not part of the stored upload. */
  readonly customerKey?: KeyObject
}

export interface UploadPart {
  readonly partNumber: number
  readonly sizeBytes: number
  readonly etag: string
  readonly modifiedMs: number
  readonly checksum: ChecksumValue | undefined
}

export interface ListUploadsRequest {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  readonly keyMarker: string
  readonly uploadIdMarker: string
  readonly maxUploads: number
}

export interface UploadListing {
  readonly uploads: readonly Upload[]
  readonly prefixes: readonly string[]
  readonly isTruncated: boolean
  readonly nextKeyMarker: string
  readonly nextUploadIdMarker: string
}

export interface CompleteRequest {
  readonly bucket: string
  readonly key: string
  readonly uploadId: string
  readonly parts: readonly {
    readonly partNumber: number
    readonly etag: string
    readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string }
  }[]
  /** Base64 of the checksum that the client expects of the whole object. */
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string }
  readonly checksumType?: ChecksumType
  /** `x-amz-mp-object-size`. */
  readonly sizeBytes?: number
  readonly conditions?: WriteConditions
  readonly origin?: ChangeOrigin
}

/** The kinds of entries in the index of due times. `marker`: a delete marker that is the only version of its key. */
export type DueKind = 'current' | 'noncurrent' | 'marker' | 'upload'

/** Selects entries of keys with this prefix, up to and including a day (counted from 1970, UTC). */
export interface DueRange {
  readonly prefix: string
  readonly lastDay: number
}

export interface DueRequest {
  readonly bucket: string
  readonly kind: DueKind
  readonly ranges: readonly DueRange[]
  /** From the previous page. */
  readonly after?: Buffer
  readonly withTags?: boolean
  /** Uploads come with `sinceMs`, which costs a read of each. */
  readonly withTimes?: boolean
  /** The limit for `newerCount`. Default 0. */
  readonly newerMax?: number
}

/** Without a kind and ranges: of all versions. */
export interface AgesRequest extends Pick<DueRequest, 'bucket' | 'after' | 'withTags'> {
  /** Versions come with their `lock`. */
  readonly withLocks?: boolean
}

/** A version or upload that matches one of the ranges. */
export interface DueEntry {
  readonly kind: DueKind
  readonly key: string
  /** The day on which the relevant age began: written, begun, or became noncurrent. Days since 1970, UTC. */
  readonly day: number
  /** The exact time of that, in milliseconds since 1970; of an upload only `withTimes`, else 0. */
  readonly sinceMs: number
  /** Identifies a version, whatever its id. 0 for an upload. */
  readonly sequence: number
  /** Empty for a version. */
  readonly uploadId: string
  readonly isDeleteMarker: boolean
  readonly sizeBytes: number
  /** Only with `withTags`. */
  readonly tags: Tags | undefined
  /** Only with `withLocks`; undefined without a lock. */
  readonly lock?: ObjectLock | undefined
  /** Number of newer noncurrent versions of the key, counted up to `newerMax`. */
  readonly newerCount: number
  /** It is the null version. */
  readonly isNull: boolean
}

export interface DuePage {
  /** By day, and within a day by key and age, oldest first. */
  readonly entries: readonly DueEntry[]
  /** Undefined at the end. A page before the end may be empty. */
  readonly next: Buffer | undefined
}

/** A version to remove if it still matches its entry. */
export interface Expiry {
  readonly kind: 'current' | 'noncurrent' | 'marker'
  readonly key: string
  readonly sequence: number
  /** The version must still have exactly these tags. */
  readonly tags?: Tags
  /** At least this number of newer noncurrent versions must still exist; at most 100. */
  readonly newerMin?: number
}

/**
 * `marked`: a delete marker was added; `marked-locked`: the same, above a locked version; `replaced`: it has taken the place of
 * the null version, which is gone. `kept`: a lock protects the version.
 * `changed`: the version no longer matches its entry; nothing was done.
 */
export type ExpiryOutcome = 'deleted' | 'marked' | 'marked-locked' | 'replaced' | 'kept' | 'changed'

/** The bytes of an object: at once for a small one, otherwise in chunks. */
export type ObjectData =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; next(): Promise<BlobChunk | undefined>; close(): void }

/**
 * The service `objects`. The operation plugins of S3 and the Admin API, lifecycle and erasure call it.
 *
 * - Every change takes an `origin`: who requested it, for the event that observers get (`object.observer`). Without an origin the
 *   server itself did.
 * - Missing buckets, keys and uploads are thrown (`objectErrors`), never returned as undefined, unless documented otherwise.
 */
export interface ObjectsService {
  createBucket(
    name: string,
    options: {
      region: string
      owner: Identity
      tags?: Tags
      /** Enables versioning from the beginning. */
      versioning?: boolean
      /** Enables object lock, which implies versioning. */
      objectLock?: boolean
      quotaBytes?: number
    },
  ): Promise<Bucket>
  getBucket(name: string): MaybePromise<Bucket>
  /** Resolves with the bucket after the change. Throws InvalidBucketState. */
  changeBucket(name: string, change: BucketChange): Promise<Bucket>
  deleteBucket(name: string): Promise<void>
  /** In byte order of the names. */
  listBuckets(request: { prefix: string; startAfter: string; limit: number }): MaybePromise<{
    readonly buckets: readonly Bucket[]
    readonly next: string | undefined
  }>
  usage(bucket: string): MaybePromise<BucketUsage>
  /** By what the keys begin with, up to and with their first slash; keys without one are in none. At most `limit`, in UTF-8 order. */
  usageOfFolders(bucket: string, limit: number): MaybePromise<ReadonlyMap<string, BucketUsage>>

  /**
   * The current version, or the named one. A delete marker is returned, not thrown. Throws NoSuchVersion; InvalidArgument for an
   * invalid version id.
   */
  getObject(bucket: string, key: string, versionId?: string): MaybePromise<ObjectVersion>
  /**
   * Bytes start <= i < start+length of a version from `getObject`; `length` may be 0. `customerKey`: required for a version
   * encrypted with one; a missing or wrong key is InvalidRequest or AccessDenied.
   */
  read(version: ObjectVersion, start: number, length: number, customerKey?: KeyObject): MaybePromise<ObjectData>
  putObject(request: PutRequest): Promise<PutResult>
  copyObject(request: CopyRequest): Promise<PutResult>
  /**
   * Moves an object to another key of its bucket in one commit; its time and all else stay the same. Throws InvalidBucketState
   * unless versioning was never enabled, NoSuchKey, PreconditionFailed and IdempotencyParameterMismatch.
   */
  renameObject(request: RenameRequest): Promise<void>
  /** Without a version id, adds a delete marker if versioning was ever enabled. Throws AccessDenied for a locked version. */
  deleteObject(
    bucket: string,
    key: string,
    versionId?: string,
    conditions?: DeleteConditions,
    options?: { readonly bypassGovernance?: boolean; readonly origin?: ChangeOrigin },
  ): Promise<DeleteResult>
  /** `deleteObject` for each item, with few commits. Outcomes are in the order of the items. */
  deleteObjects(bucket: string, items: readonly DeleteItem[], origin?: ChangeOrigin): Promise<readonly DeleteOutcome[]>
  /**
   * Changes the current or the named version and resolves with its id. Throws MethodNotAllowed for a delete marker,
   * InvalidRequest for a lock in a bucket without object lock, AccessDenied if a lock would be weakened.
   */
  changeVersion(
    bucket: string,
    key: string,
    versionId: string | undefined,
    change: VersionChange,
    origin?: ChangeOrigin,
  ): Promise<string>
  listObjects(request: ListRequest): MaybePromise<Listing>
  listVersions(request: ListVersionsRequest): MaybePromise<VersionListing>
  /** A page of the encrypted versions and uploads of a bucket. `after`: from the previous page. */
  listEncrypted(bucket: string, after: Buffer | undefined): MaybePromise<EncryptedPage>

  createUpload(request: {
    readonly bucket: string
    readonly key: string
    readonly attributes: ObjectAttributes
    readonly checksumAlgorithm: ChecksumAlgorithm | undefined
    readonly checksumType: ChecksumType | undefined
    readonly isChecksumUnasked?: true | undefined
  }): Promise<Upload>
  getUpload(bucket: string, key: string, uploadId: string): MaybePromise<Upload>
  putPart(upload: Upload, partNumber: number, body: Body): Promise<UploadPart>
  /**
   * Copies bytes start <= i < start+length of an object into a part. A plain upload without parts becomes encrypted if the source
   * is encrypted; one with parts refuses such a source (InvalidRequest). `upload`: the upload afterwards.
   */
  copyPart(
    upload: Upload,
    partNumber: number,
    source: ObjectVersion,
    start: number,
    length: number,
    sourceCustomerKey?: KeyObject,
  ): Promise<UploadPart & { readonly upload: Upload }>
  /** Throws NoSuchUpload. */
  changeUpload(bucket: string, key: string, uploadId: string, change: EncryptionChange): Promise<void>
  listParts(
    upload: Upload,
    marker: number,
    maxParts: number,
  ): MaybePromise<{ readonly parts: readonly UploadPart[]; readonly isTruncated: boolean }>
  /** Throws NoSuchUpload unless the upload is in progress or has made the newest version of the key: such a completion may be repeated. */
  requireCompletable(bucket: string, key: string, uploadId: string): Promise<void>
  /** `onProgress` is called when completion takes long, so that the caller can keep the connection alive. */
  completeUpload(request: CompleteRequest): Promise<PutResult>
  abortUpload(bucket: string, key: string, uploadId: string): Promise<void>
  listUploads(request: ListUploadsRequest): MaybePromise<UploadListing>

  /**
   * Adds versions that were written before the index was turned on to the index of due times, some at a time. Resolves with the
   * position to continue at; undefined when all are in it.
   */
  indexDue(bucket: string, after: Buffer | undefined): Promise<Buffer | undefined>
  /**
   * One page of the entries that are old enough. Uploads are always in the index; versions only if the bucket's `dueIndex` is on.
   */
  listDue(request: DueRequest): MaybePromise<DuePage>
  /**
   * The same of every version, without the index: one page of all of them, whatever their age and kind, by key, newest first. A newest version
   * that is a delete marker is of kind `marker` also above older ones, and newer versions are not counted.
   */
  listAges(request: AgesRequest): MaybePromise<DuePage>
  /**
   * Removes up to 256 versions in one commit: as a delete without version id (`current`), or permanently. Locks are respected.
   * Resolves with an outcome per version.
   */
  expire(bucket: string, expiries: readonly Expiry[], origin?: ChangeOrigin): Promise<readonly ExpiryOutcome[]>
  /** Permanently removes a version whose bytes are lost, if its record is unchanged, byte for byte. A locked version stays. */
  removeLostVersion(
    request: { readonly bucket: string; readonly record: Buffer; readonly value: Uint8Array },
    origin?: ChangeOrigin,
  ): Promise<'deleted' | 'kept' | 'changed'>
  /** Emits the event for such a version, if it was stored with reduced redundancy and its record is unchanged. */
  tellLostVersion(
    request: { readonly bucket: string; readonly record: Buffer; readonly value: Uint8Array },
    origin?: ChangeOrigin,
  ): Promise<void>
}

declare module 'svc/kernel' {
  interface Services {
    objects: ObjectsService
  }
  interface ExtensionPoints {
    /** Observers of every change of objects, called inside its commit. Contributed in every thread. */
    'object.observer': ObjectObserver
  }
}
