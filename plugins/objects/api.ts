/**
 * Objects: buckets, objects and multipart uploads over `storage`. S3's rules about data live here; its wire format does not.
 * Names follow S3. Sizes are bytes, times are milliseconds since 1970, ETags are without quotes.
 */
import type { KeyObject } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type { ChecksumAlgorithm, ChecksumType, ChecksumValue } from 'svc/plugins/checksums/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { ChangeOrigin, ObjectObserver } from './events.ts'
import type { EncryptionRequest, ObjectEncryption } from './transform.ts'

export { objectErrors, onDeleteMarker } from './errors.ts'
export {
  type ChangeOrigin,
  changeOrigin,
  type ObjectEvent,
  type ObjectEventName,
  type ObjectObserver,
} from './events.ts'
export { ExistingTags, type Tags } from './existing-tags.ts'
export { keyBytesMax, keyNormalizer, requireKeyLength } from './object-keys.ts'
export { placeOfRecord, type RecordPlace, recordRanges } from './record-places.ts'
export type {
  EncryptionRequest,
  ObjectEncryption,
  ObjectPlace,
  ObjectTransform,
  TransformedVersion,
  WriteTransform,
} from './transform.ts'

export interface Bucket {
  readonly name: string
  readonly createdMs: number
  readonly region: string
  readonly ownerId: string
  readonly tags: Readonly<Record<string, string>>
  readonly versioning: Versioning
  /** Undefined without object lock. Once there, it stays, and versioning stays enabled. */
  readonly objectLock: BucketLock | undefined
  /** What versions and parts of uploads may have in bytes, together. Undefined: no limit. */
  readonly quotaBytes: number | undefined
  /** Undefined: versions are not in the index of due times. */
  readonly dueIndex: DueIndex | undefined
}

export interface DueIndex {
  /** Sequence of the commit that turned it on: every version that was written later is in it. */
  readonly since: number
  /** Those that were written before, too. */
  readonly isComplete: boolean
}

/** `off`: never enabled. It is not returned to. */
export type Versioning = 'off' | 'enabled' | 'suspended'

export interface BucketLock {
  /** What new versions get that name no retention of their own. Exactly one of `days` and `years`, at least 1. */
  readonly defaultRetention?: {
    readonly mode: RetentionMode
    readonly days?: number
    readonly years?: number
  }
}

export type RetentionMode = 'GOVERNANCE' | 'COMPLIANCE'

export interface Retention {
  readonly mode: RetentionMode
  /** The version may not be deleted before. */
  readonly retainUntilMs: number
}

/** What keeps a version from being deleted. */
export interface ObjectLock {
  readonly retention?: Retention
  /** Undefined: it was never said. */
  readonly legalHold?: boolean
}

/** What is left out stays as it is. */
export interface BucketChange {
  /** `suspended` is refused (InvalidBucketState) in a bucket with object lock. */
  readonly versioning?: 'enabled' | 'suspended'
  readonly tags?: Readonly<Record<string, string>>
  /** Replaces the whole. Refused (InvalidBucketState) unless versioning is enabled. */
  readonly objectLock?: BucketLock
  /** 0 removes it. Below the present usage it only refuses what would grow it. */
  readonly quotaBytes?: number
  /** `on` where it is on changes nothing. `completeSince` names the `since` of what was completed by `indexDue`. */
  readonly dueIndex?: 'on' | 'off' | { readonly completeSince: number }
}

/** A change of one version's record in its place: bytes, ETag and time of modification stay. What is left out stays. */
export interface VersionChange {
  readonly tags?: Readonly<Record<string, string>>
  readonly legalHold?: boolean
  /** `null` removes it. */
  readonly retention?: Retention | null
  readonly encryption?: EncryptionChange
  /** The caller may shorten and remove retention in GOVERNANCE mode. */
  readonly bypassGovernance?: boolean
}

/** The same data key, sealed in another way. Refused (`gone`) where what is there is not `from` any more. */
export interface EncryptionChange {
  /** `sealed` as it was read. */
  readonly from: Uint8Array
  readonly to: ObjectEncryption
}

/** A version or upload that is encrypted. */
export interface EncryptedEntry {
  readonly key: string
  /** Of an upload; then it has no version id. */
  readonly uploadId: string | undefined
  readonly versionId: string | undefined
  readonly encryption: ObjectEncryption
}

export interface EncryptedPage {
  readonly entries: readonly EncryptedEntry[]
  /** Undefined at the end. A page may be empty before it. */
  readonly next: Buffer | undefined
}

export interface BucketUsage {
  readonly objects: number
  readonly versions: number
  readonly deleteMarkers: number
  readonly sizeBytes: number
  readonly uploads: number
}

/** System metadata that S3 keeps and returns as it came; undefined where the client sent none. */
export interface SystemMetadata {
  readonly contentType?: string
  readonly contentEncoding?: string
  readonly contentDisposition?: string
  readonly contentLanguage?: string
  readonly cacheControl?: string
  readonly expires?: string
  readonly websiteRedirectLocation?: string
}

export interface ObjectAttributes {
  readonly system: SystemMetadata
  /** `x-amz-meta-…` by lower-case name without the prefix. */
  readonly user: Readonly<Record<string, string>>
  readonly storageClass: string
  readonly tags?: Readonly<Record<string, string>>
  readonly lock?: ObjectLock
  /** Of writes: how the bytes are to be encrypted. Never stored; what was stored is `ObjectVersion.encryption`. */
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
  /** `null` (the string) for the null version. */
  readonly versionId: string
  readonly isDeleteMarker: boolean
  readonly sizeBytes: number
  readonly etag: string
  readonly modifiedMs: number
  readonly checksum: ChecksumValue | undefined
  /** Parts of a completed multipart upload, in order; empty otherwise. */
  readonly parts: readonly ObjectPart[]
  readonly encryption?: ObjectEncryption
}

/** What a listing shows of an object. */
export interface ObjectSummary {
  readonly key: string
  readonly sizeBytes: number
  readonly etag: string
  readonly modifiedMs: number
  readonly storageClass: string
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly checksumType: ChecksumType | undefined
}

export interface VersionSummary extends ObjectSummary {
  /** `null` (the string) for the null version. */
  readonly versionId: string
  readonly isLatest: boolean
  readonly isDeleteMarker: boolean
}

/** Conditions on the current version (a delete marker counts as none), evaluated in the commit. */
export interface WriteConditions {
  /** ETag (or `*`) that must be current. Missing object: NoSuchKey; other ETag: PreconditionFailed. */
  readonly ifMatch?: string
  /** `*`: nothing may be there. */
  readonly ifNoneMatch?: '*'
}

/** Of a rename, on its source or on what is at its destination. Times count in whole seconds. */
export interface RenameConditions {
  /** ETag (or `*`) that must be there. */
  readonly ifMatch?: string
  /** ETag that must not be there; `*`: nothing may be there. */
  readonly ifNoneMatch?: string
  /** Something must be there, and be younger. Not looked at beside `ifNoneMatch`. */
  readonly ifModifiedSinceMs?: number
  /** Nothing younger may be there. Not looked at beside `ifMatch`. */
  readonly ifUnmodifiedSinceMs?: number
}

/** On the version named, or on the current one. Where there is none, nothing is deleted. */
export interface DeleteConditions {
  readonly ifMatch?: string
  readonly ifMatchSize?: number
  readonly ifMatchModifiedMs?: number
}

/** The payload of a request: already unwrapped; `consume` rejects when signature, digest, framing or length do not hold. */
export interface Body {
  /** Decoded length, if the client announced it. */
  readonly sizeBytes: number | undefined
  /** Feeds every byte in order. The sink's promise holds back the sender. A chunk is valid only until the sink, or its promise, is done. */
  consume(sink: (chunk: Buffer) => MaybePromise<void>): Promise<void>
  /** What the client claims of the payload; complete only after `consume` (trailers come last). */
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
  /** Computed beside the ETag; known before the body. Default CRC64NVME. */
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly conditions?: WriteConditions
  /** Of the event. Default `Put`. */
  readonly cause?: 'Put' | 'Post'
  readonly origin?: ChangeOrigin
}

export interface PutResult {
  readonly etag: string
  /** Undefined where versioning is off. */
  readonly versionId: string | undefined
  readonly sizeBytes: number
  readonly modifiedMs: number
  readonly checksum: ChecksumValue | undefined
  /** As stored. */
  readonly tags: ObjectAttributes['tags']
  readonly encryption?: ObjectEncryption
}

/** A copy without a wish in a bucket without a default is encrypted as its source is, but for keys of customers. */
export interface CopyRequest {
  readonly source: ObjectVersion
  /** For a source that is encrypted under one. */
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
   * The source as it was when the caller was found to be allowed to: the commit refuses (`gone`) where it is another one, or has other
   * tags. Undefined where there was none: then only a repetition succeeds.
   */
  readonly source: ObjectVersion | undefined
  readonly sourceConditions?: RenameConditions
  /** On what would be replaced. */
  readonly conditions?: RenameConditions
  /** The same token with the same request does nothing and succeeds, for 24 hours at least; with another it is refused. */
  readonly clientToken?: string
  readonly origin?: ChangeOrigin
}

export interface DeleteResult {
  /** False when there was nothing to delete (which is no error in S3). */
  readonly existed: boolean
  /** Of the version that was deleted, or of the delete marker that was made; undefined where versioning is off. */
  readonly versionId: string | undefined
  /** Whether a delete marker was made, or was what was deleted. */
  readonly isDeleteMarker: boolean
}

/** One of many deletes. */
export interface DeleteItem {
  readonly key: string
  readonly versionId?: string
  readonly conditions?: DeleteConditions
  readonly bypassGovernance?: boolean
}

/** What became of it: errors of one item leave the others alone. */
export type DeleteOutcome = DeleteResult | { readonly failed: { readonly code: string; readonly message: string } }

export interface ListRequest {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  /** Only keys after this one, in UTF-8 byte order. Empty: from the start. */
  readonly startAfter: string
  readonly maxKeys: number
}

export interface Listing {
  readonly objects: readonly ObjectSummary[]
  readonly prefixes: readonly string[]
  /** The last key or common prefix of the page: pass it as `startAfter` to go on. Undefined when the listing is complete. */
  readonly next: string | undefined
}

export interface ListVersionsRequest {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  /** Only keys after this one; with `versionIdMarker`, also its versions that are older than that one. */
  readonly keyMarker: string
  readonly versionIdMarker: string
  readonly maxKeys: number
}

export interface VersionListing {
  /** By key, the newest version first; delete markers among them. */
  readonly versions: readonly VersionSummary[]
  readonly prefixes: readonly string[]
  readonly isTruncated: boolean
  readonly nextKeyMarker: string
  /** Empty after a common prefix. */
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
  readonly encryption?: ObjectEncryption
  /** Who began it has not asked for its encryption: it is that of the bucket's default, or of what was copied into it. */
  readonly isEncryptedUnasked?: boolean
  /** What a request on the upload brought; not of the upload itself. */
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
  /** Base64 of the whole object's checksum that the client claims, if it does. */
  readonly checksum?: { readonly algorithm: ChecksumAlgorithm; readonly value: string }
  readonly checksumType?: ChecksumType
  /** `x-amz-mp-object-size`. */
  readonly sizeBytes?: number
  readonly conditions?: WriteConditions
  readonly origin?: ChangeOrigin
}

/** What an entry of the index of due times is for. `marker`: a delete marker that is the only version of its key. */
export type DueKind = 'current' | 'noncurrent' | 'marker' | 'upload'

/** Entries of keys below a prefix, of a day (since 1970, UTC) and the days before it. */
export interface DueRange {
  readonly prefix: string
  readonly lastDay: number
}

export interface DueRequest {
  readonly bucket: string
  readonly kind: DueKind
  readonly ranges: readonly DueRange[]
  /** From the page before. */
  readonly after?: Buffer
  readonly withTags?: boolean
  /** How many newer noncurrent versions are counted at most. Default 0. */
  readonly newerMax?: number
}

/** A version or upload that is old enough for one of the ranges. */
export interface DueEntry {
  readonly kind: DueKind
  readonly key: string
  /** When the age begins that counts: written, begun, or no longer the newest. Days since 1970, UTC. */
  readonly day: number
  /** Of a version: names it, whatever its id. 0 for an upload. */
  readonly sequence: number
  /** Empty for a version. */
  readonly uploadId: string
  readonly isDeleteMarker: boolean
  readonly sizeBytes: number
  /** Only `withTags`. */
  readonly tags: Readonly<Record<string, string>> | undefined
  /** Noncurrent versions of the key that are newer, counted up to `newerMax`. */
  readonly newerCount: number
}

export interface DuePage {
  /** By day, and within a day by key and age, the oldest first. */
  readonly entries: readonly DueEntry[]
  /** Undefined at the end. A page may be empty before it. */
  readonly next: Buffer | undefined
}

/** A version that is to go if it still is what an entry said of it. */
export interface Expiry {
  readonly kind: 'current' | 'noncurrent' | 'marker'
  readonly key: string
  readonly sequence: number
  /** It must still have exactly these. */
  readonly tags?: Readonly<Record<string, string>>
  /** So many newer noncurrent versions must still be there, at most 100. */
  readonly newerMin?: number
}

/**
 * `marked`: a delete marker was added; `marked-locked`: the same over a version under a lock. `kept`: a lock keeps it. `changed`: it
 * is no longer what the entry said, and nothing was done.
 */
export type ExpiryOutcome = 'deleted' | 'marked' | 'marked-locked' | 'kept' | 'changed'

/** Bytes of an object: small ones at once, others chunk by chunk. */
export type ObjectData =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; next(): Promise<BlobChunk | undefined>; close(): void }

/**
 * Every change of objects takes an `origin`: who asked for it, for those who are told of it (`object.observer`). Without one it was
 * the server itself.
 *
 * Missing buckets, keys and uploads are thrown (`objectErrors`), never returned as undefined, unless said otherwise.
 */
export interface ObjectsService {
  createBucket(
    name: string,
    options: {
      region: string
      owner: Identity
      tags?: Readonly<Record<string, string>>
      /** Enabled from the beginning. */
      versioning?: boolean
      /** With object lock, which implies versioning. */
      objectLock?: boolean
      quotaBytes?: number
    },
  ): Promise<Bucket>
  getBucket(name: string): MaybePromise<Bucket>
  /** Resolves with the bucket as it is then. Throws InvalidBucketState. */
  changeBucket(name: string, change: BucketChange): Promise<Bucket>
  deleteBucket(name: string): Promise<void>
  /** In byte order of names. */
  listBuckets(request: { prefix: string; startAfter: string; limit: number }): MaybePromise<{
    readonly buckets: readonly Bucket[]
    readonly next: string | undefined
  }>
  usage(bucket: string): MaybePromise<BucketUsage>

  /**
   * The current version, or the one named. A delete marker is returned, not thrown. Throws NoSuchVersion, and InvalidArgument
   * for what is no version id.
   */
  getObject(bucket: string, key: string, versionId?: string): MaybePromise<ObjectVersion>
  /**
   * Bytes start <= i < start+length of a version that `getObject` returned. `length` 0 is allowed. `customerKey`: for a version
   * that is encrypted under one; without it, or with another, that is InvalidRequest or AccessDenied.
   */
  read(version: ObjectVersion, start: number, length: number, customerKey?: KeyObject): MaybePromise<ObjectData>
  putObject(request: PutRequest): Promise<PutResult>
  copyObject(request: CopyRequest): Promise<PutResult>
  /**
   * Gives an object another key in its bucket, in one commit; nothing of it changes, also not its time. Throws InvalidBucketState where
   * versioning is not off, NoSuchKey, PreconditionFailed, and IdempotencyParameterMismatch.
   */
  renameObject(request: RenameRequest): Promise<void>
  /** Without a version id, a delete marker where versioning is not off. Throws AccessDenied for a version under a lock. */
  deleteObject(
    bucket: string,
    key: string,
    versionId?: string,
    conditions?: DeleteConditions,
    options?: { readonly bypassGovernance?: boolean; readonly origin?: ChangeOrigin },
  ): Promise<DeleteResult>
  /** As `deleteObject` for each of them, but with few commits for all. Outcomes are in the order of the items. */
  deleteObjects(bucket: string, items: readonly DeleteItem[], origin?: ChangeOrigin): Promise<readonly DeleteOutcome[]>
  /**
   * Changes the current version, or the one named; resolves with its id. Throws MethodNotAllowed for a delete marker,
   * InvalidRequest for a lock where the bucket has no object lock, AccessDenied where a lock would be weakened.
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
  /** Versions and uploads of a bucket that are encrypted, some at a time. `after`: from the page before. */
  listEncrypted(bucket: string, after: Buffer | undefined): MaybePromise<EncryptedPage>

  createUpload(request: {
    readonly bucket: string
    readonly key: string
    readonly attributes: ObjectAttributes
    readonly checksumAlgorithm: ChecksumAlgorithm | undefined
    readonly checksumType: ChecksumType | undefined
  }): Promise<Upload>
  getUpload(bucket: string, key: string, uploadId: string): MaybePromise<Upload>
  putPart(upload: Upload, partNumber: number, body: Body): Promise<UploadPart>
  /**
   * Copies bytes start <= i < start+length of an object into a part. An upload that is not encrypted becomes so with its first part, where
   * that comes from an object that is; one that has other parts refuses it (InvalidRequest). `upload`: as it is then.
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
  /** `onProgress` is called when the answer takes long, so that the caller may keep the connection alive. */
  completeUpload(request: CompleteRequest): Promise<PutResult>
  abortUpload(bucket: string, key: string, uploadId: string): Promise<void>
  listUploads(request: ListUploadsRequest): MaybePromise<UploadListing>

  /**
   * Puts versions that were written before the index was turned on into the index of due times, some at a time. Resolves with where to
   * go on, undefined when all are in it.
   */
  indexDue(bucket: string, after: Buffer | undefined): Promise<Buffer | undefined>
  /** One page of what is old enough. Uploads are always in the index, versions where the bucket's `dueIndex` is on. */
  listDue(request: DueRequest): MaybePromise<DuePage>
  /**
   * Lets versions go as a delete without version id does (`current`), or for good, all in one commit; at most 256. Locks are not passed
   * over. Resolves with an outcome for each.
   */
  expire(bucket: string, expiries: readonly Expiry[], origin?: ChangeOrigin): Promise<readonly ExpiryOutcome[]>
  /**
   * Removes the version in this record for good, if the record still is, byte for byte, what it was: for versions whose bytes are
   * lost. A lock keeps it all the same.
   */
  removeLostVersion(
    request: { readonly bucket: string; readonly record: Buffer; readonly value: Uint8Array },
    origin?: ChangeOrigin,
  ): Promise<'deleted' | 'kept' | 'changed'>
  /** Tells the event of such a version where it was kept with reduced redundancy, and the record still is what it was. */
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
    /** Who is told of every change of objects, inside its commit. Contributed in every thread. */
    'object.observer': ObjectObserver
  }
}
