/**
 * Objects: buckets, objects and multipart uploads over `storage`. S3's rules about data live here; its wire format does not.
 * Names follow S3. Sizes are bytes, times are milliseconds since 1970, ETags are without quotes.
 */
import type { ChecksumAlgorithm, ChecksumType, ChecksumValue } from 'svc/plugins/checksums/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { BlobChunk, MaybePromise } from 'svc/plugins/storage/api'

export { objectErrors } from './errors.ts'

export interface Bucket {
  readonly name: string
  readonly createdMs: number
  readonly region: string
  readonly ownerId: string
  readonly tags: Readonly<Record<string, string>>
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

/** Conditions on the current version, evaluated in the commit. */
export interface WriteConditions {
  /** ETag (or `*`) that must be current. Missing object: NoSuchKey; other ETag: PreconditionFailed. */
  readonly ifMatch?: string
  /** `*`: nothing may be there. */
  readonly ifNoneMatch?: '*'
}

export interface DeleteConditions {
  readonly ifMatch?: string
  readonly ifMatchSize?: number
  readonly ifMatchModifiedMs?: number
}

/** The payload of a request: already unwrapped; `consume` rejects when signature, digest, framing or length do not hold. */
export interface Body {
  /** Decoded length, if the client announced it. */
  readonly sizeBytes: number | undefined
  /** Feeds every byte in order. The sink's promise holds back the sender. A chunk is valid only during the call. */
  consume(sink: (chunk: Buffer) => MaybePromise<void>): Promise<void>
  /** What the client claims of the payload; complete only after `consume` (trailers come last). */
  claims(): BodyClaims
}

export interface BodyClaims {
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
}

export interface PutResult {
  readonly etag: string
  readonly versionId: string | undefined
  readonly sizeBytes: number
  readonly checksum: ChecksumValue | undefined
}

export interface CopyRequest {
  readonly source: ObjectVersion
  readonly bucket: string
  readonly key: string
  readonly attributes: ObjectAttributes
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly conditions?: WriteConditions
}

export interface DeleteResult {
  /** False when there was nothing to delete (which is no error in S3). */
  readonly existed: boolean
  readonly versionId: string | undefined
  readonly isDeleteMarker: boolean
}

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

export interface Upload {
  readonly bucket: string
  readonly key: string
  readonly uploadId: string
  readonly startedMs: number
  readonly attributes: ObjectAttributes
  readonly checksumAlgorithm: ChecksumAlgorithm | undefined
  readonly checksumType: ChecksumType | undefined
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
}

/** Bytes of an object: small ones at once, others chunk by chunk. */
export type ObjectData =
  | { readonly kind: 'whole'; readonly bytes: Buffer }
  | { readonly kind: 'stream'; next(): Promise<BlobChunk | undefined>; close(): void }

/** Missing buckets, keys and uploads are thrown (`objectErrors`), never returned as undefined, unless said otherwise. */
export interface ObjectsService {
  createBucket(
    name: string,
    options: { region: string; owner: Identity; tags?: Record<string, string> },
  ): Promise<Bucket>
  getBucket(name: string): MaybePromise<Bucket>
  deleteBucket(name: string): Promise<void>
  /** In byte order of names. */
  listBuckets(request: { prefix: string; startAfter: string; limit: number }): MaybePromise<{
    readonly buckets: readonly Bucket[]
    readonly next: string | undefined
  }>
  usage(bucket: string): MaybePromise<BucketUsage>

  /** The current version, or the one named. A delete marker is returned, not thrown. */
  getObject(bucket: string, key: string, versionId?: string): MaybePromise<ObjectVersion>
  /** Bytes start <= i < start+length of a version that `getObject` returned. `length` 0 is allowed. */
  read(version: ObjectVersion, start: number, length: number): MaybePromise<ObjectData>
  putObject(request: PutRequest): Promise<PutResult>
  copyObject(request: CopyRequest): Promise<PutResult & { readonly modifiedMs: number }>
  deleteObject(bucket: string, key: string, versionId?: string, conditions?: DeleteConditions): Promise<DeleteResult>
  listObjects(request: ListRequest): MaybePromise<Listing>

  createUpload(request: {
    readonly bucket: string
    readonly key: string
    readonly attributes: ObjectAttributes
    readonly checksumAlgorithm: ChecksumAlgorithm | undefined
    readonly checksumType: ChecksumType | undefined
  }): Promise<Upload>
  getUpload(bucket: string, key: string, uploadId: string): MaybePromise<Upload>
  putPart(upload: Upload, partNumber: number, body: Body): Promise<UploadPart>
  /** Copies bytes start <= i < start+length of an object into a part. */
  copyPart(
    upload: Upload,
    partNumber: number,
    source: ObjectVersion,
    start: number,
    length: number,
  ): Promise<UploadPart>
  listParts(
    upload: Upload,
    marker: number,
    maxParts: number,
  ): MaybePromise<{ readonly parts: readonly UploadPart[]; readonly isTruncated: boolean }>
  /** `onProgress` is called when the answer takes long, so that the caller may keep the connection alive. */
  completeUpload(request: CompleteRequest): Promise<PutResult>
  abortUpload(bucket: string, key: string, uploadId: string): Promise<void>
  listUploads(request: ListUploadsRequest): MaybePromise<UploadListing>
}

declare module 'svc/kernel' {
  interface Services {
    objects: ObjectsService
  }
}
