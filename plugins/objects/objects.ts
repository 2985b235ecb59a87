/** The service `objects`: reads go straight to the index, changes through the procedures of commit.ts. */
import { isCatalogError, type Random } from 'svc/kernel'
import type { ChecksumsService, ChecksumValue } from 'svc/plugins/checksums/api'
import type { MaybePromise, StorageService } from 'svc/plugins/storage/api'
import type { Bucket, CompleteRequest, ObjectsService, PutResult, Upload, UploadPart } from './api.ts'
import type { BucketDocument, Stamp, UploadDocument } from './commit.ts'
import { copyObject } from './copy.ts'
import { objectErrors } from './errors.ts'
import { ingest } from './ingest.ts'
import { bucketKey, counterKey, objectKey, partNumberOf, partRange, uploadKey } from './keys.ts'
import { listObjects, listUploads } from './listing.ts'
import { combineChecksums, matchParts, multipartMd5, totalSize } from './parts.ts'
import { bodyOf, readData } from './read.ts'
import { decodeDocument, decodeVersion, encodeVersion, md5Of, type StoredVersion } from './record.ts'
import { decodeUsage } from './usage.ts'

export interface ObjectsOptions {
  readonly storage: StorageService
  readonly checksums: ChecksumsService
  readonly random: Random
}

export function createObjects({ storage, checksums, random }: ObjectsOptions): ObjectsService {
  const getBucket = (name: string): MaybePromise<Bucket> =>
    then(storage.get(bucketKey(name)), record => {
      if (record === undefined) throw objectErrors.NoSuchBucket(undefined, { extra: { BucketName: name } })
      return toBucket(name, record.value)
    })

  /** For what was not found: the bucket's absence is the better answer. */
  const missing = (bucket: string, error: Error): MaybePromise<never> =>
    then(getBucket(bucket), () => {
      throw error
    })

  const getObject = (bucket: string, key: string, versionId?: string): MaybePromise<StoredVersion> =>
    then(storage.get(objectKey(bucket, key)), record => {
      if (versionId !== undefined && versionId !== 'null') {
        return missing(bucket, objectErrors.NoSuchVersion(undefined, { extra: { Key: key, VersionId: versionId } }))
      }
      if (record === undefined) return missing(bucket, objectErrors.NoSuchKey(undefined, { extra: { Key: key } }))
      return decodeVersion(bucket, key, record)
    })

  const getUpload = (bucket: string, key: string, uploadId: string): MaybePromise<Upload> =>
    // An id that is no id of ours must not be looked for: it may be longer than a record key.
    then(isUploadId(uploadId) ? storage.get(uploadKey(bucket, key, uploadId)) : undefined, record =>
      record === undefined
        ? missing(bucket, objectErrors.NoSuchUpload(undefined, { extra: { UploadId: uploadId } }))
        : toUpload(bucket, key, uploadId, record.value),
    )

  const readParts = (bucket: string, uploadId: string, marker = 0, limit = Number.POSITIVE_INFINITY) => {
    const [start, end] = partRange(bucket, uploadId)
    return storage.scan(start, end, cursor => {
      const parts = new Map<number, StoredVersion>()
      for (let more = cursor.next(); more && parts.size < limit; more = cursor.next()) {
        const partNumber = partNumberOf(cursor.key)
        if (partNumber > marker) parts.set(partNumber, decodeVersion(bucket, '', cursor))
      }
      return parts
    })
  }

  const storePart: ObjectsService['putPart'] = async (upload, partNumber, body) => {
    const { bucket, key, uploadId, checksumAlgorithm: algorithm } = upload
    const ingested = await ingest(body, { storage, checksums, algorithm, inlineBytesMax: 0 })
    const checksum = checksumValue(algorithm, ingested.checksum)
    const value = encodeVersion({ ...ingested, attributes: noAttributes, checksum })
    try {
      const { modifiedMs } = await storage.execute<Stamp>('objects.putPart', {
        bucket,
        key,
        uploadId,
        partNumber,
        value,
        blobs: ingested.blobs.map(blob => blob.id),
      })
      return { partNumber, sizeBytes: ingested.sizeBytes, etag: ingested.md5.toString('hex'), modifiedMs, checksum }
    } catch (error) {
      await ingested.discard()
      throw error
    }
  }

  const completeOnce = async (request: CompleteRequest, upload: Upload): Promise<PutResult> => {
    const { bucket, key, uploadId, conditions } = request
    const stored = await readParts(bucket, uploadId)
    const parts = matchParts(request, stored)
    const sizeBytes = totalSize(parts, request.sizeBytes)
    const checksum = combineChecksums(checksums, upload, parts, request)
    const md5 = multipartMd5(parts.map(part => md5Of(part.version)))
    const blobs = parts.flatMap(part => part.version.data.blobs)
    const value = encodeVersion({
      attributes: upload.attributes,
      sizeBytes,
      md5,
      checksum,
      blobs,
      parts: parts.map(({ partNumber, version }) => ({
        partNumber,
        sizeBytes: version.sizeBytes,
        checksum: version.checksum,
      })),
      uploadId,
    })
    await storage.execute<Stamp>('objects.completeUpload', {
      bucket,
      key,
      value,
      blobs: blobs.map(blob => blob.id),
      conditions,
      uploadId,
      parts: [...stored].map(([partNumber, version]) => [partNumber, version.sequence]),
    })
    return { etag: `${md5.toString('hex')}-${parts.length}`, versionId: undefined, sizeBytes, checksum }
  }

  return {
    getBucket,
    getObject,
    getUpload,

    async createBucket(name, { region, owner, tags = {} }) {
      const document = { region, ownerId: owner.ownerId, tags }
      const { createdMs } = await storage.execute<{ createdMs: number }>('objects.createBucket', { name, document })
      return { name, createdMs, ...document }
    },

    async deleteBucket(name) {
      await storage.execute('objects.deleteBucket', { name })
    },

    listBuckets({ prefix, startAfter, limit }) {
      // Names are ASCII and short: nothing else may reach the record key, which holds a byte for each character.
      if (!/^[a-z0-9.-]{0,63}$/.test(prefix)) return { buckets: [], next: undefined }
      const [start, end] = bucketNames(prefix)
      const from = startAfter === '' ? start : Buffer.from(`b${startAfter.slice(0, 64)}\0`, 'utf8')
      if (from.compare(end) >= 0) return { buckets: [], next: undefined }
      return storage.scan(from.compare(start) > 0 ? from : start, end, cursor => {
        const buckets: Bucket[] = []
        for (let more = cursor.next(); more; more = cursor.next()) {
          if (buckets.length === limit) return { buckets, next: buckets.at(-1)?.name }
          buckets.push(toBucket(cursor.key.toString('latin1', 1), cursor.value))
        }
        return { buckets, next: undefined }
      })
    },

    usage: bucket => then(storage.counter(counterKey(bucket)), decodeUsage),

    read(version, start, length) {
      return readData(storage, (version as StoredVersion).data, start, length)
    },

    async putObject({ bucket, key, attributes, body, checksumAlgorithm, conditions }) {
      // A client should not send 5 GiB to a bucket that is not there; for a small body the commit's own look is enough.
      if (body.sizeBytes === undefined || body.sizeBytes > storage.inlineBytesMax) await getBucket(bucket)
      const algorithm = checksumAlgorithm ?? 'CRC64NVME'
      const ingested = await ingest(body, { storage, checksums, algorithm, inlineBytesMax: storage.inlineBytesMax })
      const checksum = checksumValue(algorithm, ingested.checksum)
      const value = encodeVersion({ ...ingested, attributes, checksum })
      const blobs = ingested.blobs.map(blob => blob.id)
      try {
        await storage.execute('objects.putObject', { bucket, key, value, blobs, conditions }, ingested.inline)
      } catch (error) {
        await ingested.discard()
        throw error
      }
      return { etag: ingested.md5.toString('hex'), versionId: undefined, sizeBytes: ingested.sizeBytes, checksum }
    },

    copyObject: request => copyObject({ storage, checksums }, request),

    async deleteObject(bucket, key, versionId, conditions) {
      if (versionId !== undefined && versionId !== 'null') {
        await getBucket(bucket)
        return { existed: false, versionId, isDeleteMarker: false }
      }
      const { existed } = await storage.execute<{ existed: boolean }>('objects.deleteObject', {
        bucket,
        key,
        conditions,
      })
      return { existed, versionId: versionId === undefined || !existed ? undefined : 'null', isDeleteMarker: false }
    },

    listObjects: request => then(getBucket(request.bucket), () => listObjects(storage, request)),

    async createUpload({ bucket, key, attributes, checksumAlgorithm, checksumType }) {
      const document = { attributes, checksumAlgorithm: checksumAlgorithm ?? null, checksumType: checksumType ?? null }
      const created = await storage.execute<{ uploadId: string; startedMs: number }>('objects.createUpload', {
        bucket,
        key,
        nonce: random.bytes(9).toString('hex'),
        document,
      })
      return { bucket, key, attributes, checksumAlgorithm, checksumType, ...created }
    },

    putPart: storePart,

    async copyPart(upload, partNumber, source, start, length) {
      const data = await readData(storage, (source as StoredVersion).data, start, length)
      return storePart(upload, partNumber, bodyOf(data, length))
    },

    listParts: (upload, marker, maxParts) =>
      then(readParts(upload.bucket, upload.uploadId, marker, maxParts + 1), stored => {
        const parts = [...stored].slice(0, maxParts).map(([partNumber, version]) => toPart(partNumber, version))
        return { parts, isTruncated: stored.size > maxParts && maxParts > 0 }
      }),

    async completeUpload(request) {
      const { bucket, key, uploadId } = request
      try {
        return await completeOnce(request, await getUpload(bucket, key, uploadId))
      } catch (error) {
        // Somebody was faster: the same list of parts gets the same answer.
        if (!isCatalogError(error) || (error.code !== 'NoSuchUpload' && error.code !== 'InvalidPart')) throw error
        const done = repeatedCompletion(await optional(getObject, bucket, key), request)
        if (done !== undefined) return done
        throw error
      }
    },

    async abortUpload(bucket, key, uploadId) {
      await getUpload(bucket, key, uploadId)
      const partNumbers = [...(await readParts(bucket, uploadId)).keys()]
      await storage.execute('objects.abortUpload', { bucket, key, uploadId, partNumbers })
    },

    listUploads: request =>
      then(getBucket(request.bucket), () =>
        then(listUploads(storage, request), page => ({
          ...page,
          uploads: page.uploads.map(found => toUpload(request.bucket, found.key, found.uploadId, found.value)),
        })),
      ),
  }
}

const noAttributes = { system: {}, user: {}, storageClass: 'STANDARD' }

/** Continues at once where there is nothing to wait for: a GET that finds all in memory takes no turn of the event loop. */
export function then<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

export function checksumValue(
  algorithm: ChecksumValue['algorithm'] | undefined,
  digest: Buffer | undefined,
): ChecksumValue | undefined {
  if (algorithm === undefined || digest === undefined) return undefined
  return { algorithm, type: 'FULL_OBJECT', value: digest.toString('base64') }
}

function bucketNames(prefix: string): [Buffer, Buffer] {
  const start = bucketKey(prefix)
  return [start, Buffer.concat([start, Buffer.from([0xff])])]
}

function toBucket(name: string, value: Uint8Array): Bucket {
  return { name, ...decodeDocument<BucketDocument>(value) }
}

function toUpload(bucket: string, key: string, uploadId: string, value: Uint8Array): Upload {
  const document = decodeDocument<UploadDocument>(value)
  return {
    bucket,
    key,
    uploadId,
    startedMs: document.startedMs,
    attributes: document.attributes as Upload['attributes'],
    checksumAlgorithm: (document.checksumAlgorithm ?? undefined) as Upload['checksumAlgorithm'],
    checksumType: (document.checksumType ?? undefined) as Upload['checksumType'],
  }
}

function toPart(partNumber: number, version: StoredVersion): UploadPart {
  const { sizeBytes, etag, modifiedMs, checksum } = version
  return { partNumber, sizeBytes, etag, modifiedMs, checksum }
}

function isUploadId(uploadId: string): boolean {
  return /^[0-9a-f]{32}$/.test(uploadId)
}

async function optional(
  getObject: (bucket: string, key: string) => MaybePromise<StoredVersion>,
  bucket: string,
  key: string,
): Promise<StoredVersion | undefined> {
  try {
    return await getObject(bucket, key)
  } catch {
    // Whatever is wrong here, the caller has the better error: the upload is not there.
    return undefined
  }
}

/** A client that lost the answer asks again: the same list of parts gets the same answer. */
function repeatedCompletion(
  current: StoredVersion | undefined,
  request: Parameters<ObjectsService['completeUpload']>[0],
): PutResult | undefined {
  if (current === undefined || current.uploadId !== request.uploadId) return undefined
  const digests = request.parts.map(part => Buffer.from(part.etag, 'hex'))
  const etag = `${multipartMd5(digests).toString('hex')}-${request.parts.length}`
  if (etag !== current.etag) return undefined
  return { etag, versionId: undefined, sizeBytes: current.sizeBytes, checksum: current.checksum }
}
