/**
 * The implementation of the service `objects`: reads query the storage directly; changes run the procedures of `commit.ts`. Every
 * thread has its own instance.
 */
import { type Clock, chain, isCatalogError, type MaybePromise, type Random } from 'svc/kernel'
import type { ChecksumsService, ChecksumValue } from 'svc/plugins/checksums/api'
import { bucketKey, isInDoubt, type StorageService, storageErrors } from 'svc/plugins/storage/api'
import type {
  Bucket,
  CompleteRequest,
  DeleteResult,
  ExpiryOutcome,
  ObjectsService,
  PutRequest,
  PutResult,
  Upload,
  UploadPart,
} from './api.ts'
import { type BucketDocument, createBucketReader, toBucket } from './bucket-document.ts'
import { deleteObjects } from './bulk-delete.ts'
import type { UploadDocument } from './commit.ts'
import { copyObject } from './copy.ts'
import { listAges, listDue, listUnindexed } from './due.ts'
import { listEncrypted } from './encrypted.ts'
import { noSuchVersion, objectErrors } from './errors.ts'
import { type ObjectEventName, packOrigin } from './events.ts'
import { type Ingested, ingest } from './ingest.ts'
import { counterKey, isUploadId, objectKey, partKey, partNumberOf, partRange, successor, uploadKey } from './keys.ts'
import { listObjects, listUploads, listVersions } from './listing.ts'
import { combineChecksums, matchParts, multipartMd5, type StoredPart, totalSize } from './parts.ts'
import { refuseHopeless } from './quota.ts'
import { bodyOf, readData, readVersion } from './read.ts'
import {
  decodeDocument,
  decodeEncryption,
  decodeVersion,
  encodeEncryption,
  encodeVersion,
  isReduced,
  md5Of,
  packAttributes,
  redundancyOf,
  type StoredVersion,
  sizeOf,
  unpackAttributes,
} from './record.ts'
import type { RemoveLostOutcome } from './remove-lost.ts'
import { noTags } from './tags.ts'
import type { EncryptionRequest, ObjectEncryption, ObjectPlace, ObjectTransform, WriteTransform } from './transform.ts'
import { decodeUsage, folderCounters, folderOf } from './usage.ts'
import type { Stamp } from './versions.ts'

export interface ObjectsOptions {
  readonly storage: StorageService
  readonly checksums: ChecksumsService
  readonly random: Random
  readonly clock: Pick<Clock, 'monotonicNs'>
  /**
   * The transformation (encryption) of this server, if a plugin contributes one. Called for each write, and for each read of a
   * transformed object.
   */
  readonly transform: () => ObjectTransform | undefined
}

export function createObjects({ storage, checksums, random, clock, transform }: ObjectsOptions): ObjectsService {
  const toKnownBucket = createBucketReader()
  /** The same in every thread. */
  const nowNs = () => Number(clock.monotonicNs())
  const getBucket = (name: string): MaybePromise<Bucket> =>
    chain(storage.get(bucketKey(name)), record => {
      if (record === undefined) throw objectErrors.NoSuchBucket(undefined, { extra: { BucketName: name } })
      return toKnownBucket(name, record.value)
    })

  /** Rejects with NoSuchBucket where the bucket is missing, otherwise with the error. */
  const missing = async (bucket: string, error: Error): Promise<never> => {
    await getBucket(bucket)
    throw error
  }

  // Without a promise where none is needed: every read begins here.
  const getObject = (bucket: string, key: string, versionId?: string): MaybePromise<StoredVersion> => {
    const orMissing = (version: StoredVersion | undefined) => version ?? missing(bucket, noSuchVersion(key, versionId))
    if (versionId !== undefined) return chain(readVersion(storage, bucket, key, versionId), orMissing)
    return chain(storage.get(objectKey(bucket, key)), record =>
      orMissing(record === undefined ? undefined : decodeVersion(bucket, key, record)),
    )
  }

  const getUpload = async (bucket: string, key: string, uploadId: string): Promise<Upload> => {
    // Other ids are never looked up: they may be longer than a record key.
    const record = isUploadId(uploadId) ? await storage.get(uploadKey(bucket, key, uploadId)) : undefined
    return record === undefined
      ? missing(bucket, objectErrors.NoSuchUpload(undefined, { extra: { UploadId: uploadId } }))
      : toUpload(bucket, key, uploadId, record.value)
  }

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

  const requireTransform = (): ObjectTransform => {
    const found = transform()
    // Without the transformation, stored bytes would be sent encrypted or received bytes stored in plain.
    if (found === undefined) throw storageErrors.unavailable('No loaded plugin can encrypt or decrypt.')
    return found
  }

  const begin = (
    place: ObjectPlace,
    requested: EncryptionRequest | undefined,
    source?: ObjectEncryption,
  ): MaybePromise<WriteTransform | undefined> =>
    (requested === undefined && source === undefined ? transform() : requireTransform())?.begin(
      place,
      requested,
      source,
    )

  const read: ObjectsService['read'] = (version, start, length, customerKey) => {
    const { data } = version as StoredVersion
    if (version.encryption === undefined) {
      if (customerKey !== undefined) throw keyNotApplicable()
      return readData(storage, data, start, length)
    }
    return requireTransform().read(version, start, length, customerKey, (from, count) =>
      readData(storage, data, from, count),
    )
  }

  /** The MD5 of the received bytes, or random bytes when the ETag must not depend on them. */
  const etagBytes = (ingested: Ingested, transformed: WriteTransform | undefined): Buffer =>
    transformed?.etag === 'opaque' ? random.bytes(16) : ingested.md5!

  const store = async (
    { bucket, key, attributes, body, bytesMax, checksumAlgorithm, conditions, origin }: PutRequest,
    event: ObjectEventName,
    transformed: WriteTransform | undefined,
    begunNs: number,
  ): Promise<PutResult> => {
    const algorithm = checksumAlgorithm ?? 'CRC64NVME'
    const { inlineBytesMax } = storage
    const redundancy = redundancyOf(attributes)
    const record = objectKey(bucket, key)
    const transform = transformed
    const settings = { storage, checksums, algorithm, inlineBytesMax, redundancy, record, transform, bytesMax }
    const ingested = await ingest(body, settings)
    const checksum = checksumValue(algorithm, ingested.checksum)
    const md5 = etagBytes(ingested, transformed)
    const encryption = transformed?.encryption
    const { sizeBytes } = ingested
    const value = encodeVersion({ attributes, sizeBytes, md5, checksum, blobs: ingested.blobs, encryption })
    const blobs = ingested.blobs.map(blob => blob.id)
    try {
      const args = { bucket, key, value, blobs, conditions, event, origin: packOrigin(origin), begunNs }
      const { versionId, modifiedMs } = await storage.execute<Stamp>('objects.putObject', args, ingested.inline, {
        redundancy,
      })
      const etag = md5.toString('hex')
      return { etag, versionId, sizeBytes, modifiedMs, checksum, tags: attributes.tags, encryption }
    } catch (error) {
      await drop(ingested, error)
      throw error
    }
  }

  /**
   * After a commit that was rejected with this error. One in doubt may be found later, and then needs its blobs. If no record references
   * them, the storage deletes them once it knows, at the latest at the next start.
   */
  const drop = (ingested: Ingested, error: unknown): Promise<void> =>
    isInDoubt(error) ? ingested.abandon() : ingested.discard()

  const storePart: ObjectsService['putPart'] = async (upload, partNumber, body) => {
    const { bucket, uploadId, checksumAlgorithm: algorithm } = upload
    await refuseHopeless(storage, await getBucket(bucket), body.sizeBytes, async () => {
      const stored = await storage.get(partKey(bucket, uploadId, partNumber))
      return stored === undefined ? 0 : sizeOf(stored.value)
    })
    const transformed = await beginPart(upload, partNumber)
    try {
      const redundancy = redundancyOf(upload.attributes)
      const record = partKey(bucket, uploadId, partNumber)
      const settings = { storage, checksums, algorithm, inlineBytesMax: 0, redundancy, record, transform: transformed }
      const ingested = await ingest(body, settings)
      return await commitPart(upload, partNumber, ingested, transformed)
    } finally {
      transformed?.close()
    }
  }

  const beginPart = (upload: Upload, partNumber: number): MaybePromise<WriteTransform | undefined> => {
    const { bucket, key, encryption, customerKey } = upload
    if (encryption !== undefined)
      return requireTransform().beginPart({ bucket, key }, encryption, partNumber, customerKey)
    if (customerKey === undefined) return undefined
    throw objectErrors.InvalidRequest(
      'The multipart upload initiate did not request encryption. Please resend the request without sending encryption parameters.',
    )
  }

  /**
   * A part copied from an encrypted object must not become plain because the upload requests nothing: the upload takes over the
   * encryption of its first part's source.
   */
  const encryptedAs = async (upload: Upload, source: ObjectEncryption | undefined): Promise<Upload> => {
    if (upload.encryption !== undefined || source === undefined) return upload
    const { bucket, key, uploadId, customerKey } = upload
    const encryption = await requireTransform().beginUpload({ bucket, key }, undefined, source)
    if (encryption === undefined) return upload
    const args = { bucket, key, uploadId, encryption: encodeEncryption(encryption) }
    await storage.execute('objects.encryptUpload', args)
    return { ...(await getUpload(bucket, key, uploadId)), customerKey }
  }

  const commitPart = async (
    { bucket, key, uploadId, checksumAlgorithm: algorithm }: Upload,
    partNumber: number,
    ingested: Ingested,
    transformed: WriteTransform | undefined,
  ): Promise<UploadPart> => {
    const { sizeBytes } = ingested
    const checksum = checksumValue(algorithm, ingested.checksum)
    const md5 = etagBytes(ingested, transformed)
    const encryption = transformed?.encryption
    const attributes = noAttributes
    const value = encodeVersion({ attributes, sizeBytes, md5, checksum, blobs: ingested.blobs, encryption })
    try {
      const { modifiedMs } = await storage.execute<{ modifiedMs: number }>('objects.putPart', {
        bucket,
        key,
        uploadId,
        partNumber,
        value,
        blobs: ingested.blobs.map(blob => blob.id),
      })
      return { partNumber, sizeBytes, etag: md5.toString('hex'), modifiedMs, checksum }
    } catch (error) {
      await drop(ingested, error)
      throw error
    }
  }

  const abort = async (bucket: string, key: string, uploadId: string): Promise<void> => {
    const partNumbers = [...(await readParts(bucket, uploadId)).keys()]
    await storage.execute('objects.abortUpload', { bucket, key, uploadId, partNumbers })
  }

  const completeOnce = async (request: CompleteRequest, upload: Upload): Promise<PutResult> => {
    const { bucket, key, uploadId, conditions, origin } = request
    const stored = await readParts(bucket, uploadId)
    const parts = matchParts(request, stored)
    const sizeBytes = totalSize(parts, request.sizeBytes)
    const checksum = combineChecksums(checksums, upload, parts, request)
    const md5 = multipartMd5(parts.map(part => md5Of(part.version)))
    const blobs = parts.flatMap(part => part.version.data.blobs)
    const encryption = await encryptionOf(upload, parts)
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
      encryption,
    })
    const { versionId, modifiedMs } = await storage.execute<Stamp>('objects.completeUpload', {
      bucket,
      key,
      value,
      blobs: blobs.map(blob => blob.id),
      conditions,
      uploadId,
      parts: [...stored].map(([partNumber, version]) => [partNumber, version.sequence]),
      sealed: upload.encryption?.sealed,
      event: 'ObjectCreated:CompleteMultipartUpload',
      origin: packOrigin(origin),
    })
    const { tags } = upload.attributes
    const etag = `${md5.toString('hex')}-${parts.length}`
    return { etag, versionId, sizeBytes, modifiedMs, checksum, tags, encryption }
  }

  /** Retries when the data key was sealed again between read and commit, so that the version gets the current one. */
  const completeSteadily = async (request: CompleteRequest): Promise<PutResult> => {
    for (let tries = 1; ; tries++) {
      const upload = await getUpload(request.bucket, request.key, request.uploadId)
      try {
        return await completeOnce(request, upload)
      } catch (error) {
        if (tries === completeTriesMax || !isCatalogError(error) || error.code !== 'gone') throw error
      }
    }
  }

  const encryptionOf = async (
    { bucket, key, uploadId, encryption }: Upload,
    parts: readonly StoredPart[],
  ): Promise<ObjectEncryption | undefined> => {
    const ofParts = parts.flatMap(({ version }) => version.encryption ?? [])
    if (ofParts.length !== (encryption === undefined ? 0 : parts.length)) {
      const now = await getUpload(bucket, key, uploadId)
      if (encryption === undefined && now.encryption !== undefined) {
        throw storageErrors.gone('The upload has become encrypted meanwhile.')
      }
      throw storageErrors.corrupt('Parts of an upload are not encrypted in the way the upload is.')
    }
    return encryption && requireTransform().completeUpload(encryption, ofParts)
  }

  return {
    getBucket,
    getObject,
    getUpload,

    async createBucket(name, { region, owner, tags = noTags, versioning = false, objectLock = false, quotaBytes = 0 }) {
      const document: Omit<BucketDocument, 'createdMs'> = {
        region,
        ownerId: owner.ownerId,
        tags,
        ...(versioning || objectLock ? { versioning: 'enabled' } : undefined),
        ...(objectLock ? { objectLock: {} } : undefined),
        ...(quotaBytes === 0 ? undefined : { quotaBytes }),
      }
      const { createdMs } = await storage.execute<{ createdMs: number }>('objects.createBucket', { name, document })
      return toBucket(name, { createdMs, ...document })
    },

    async changeBucket(name, change) {
      return toBucket(name, await storage.execute<BucketDocument>('objects.changeBucket', { name, change }))
    },

    async deleteBucket(name) {
      for (;;) {
        const { uploads } = await storage.execute<{ uploads: number }>('objects.deleteBucket', { name })
        if (uploads === 0) return
        // Their number has no bound, and a commit has one. Who begins uploads meanwhile prolongs this and loses them.
        const page = await listUploads(storage, { ...firstUploads, bucket: name })
        for (const { key, uploadId } of page.uploads) await unlessGone(abort(name, key, uploadId))
      }
    },

    listBuckets({ prefix, startAfter, limit }) {
      // Bucket names are short and ASCII. Other characters must not reach the record key, which has one byte per character.
      if (!/^[a-z0-9.-]{0,63}$/.test(prefix)) return { buckets: [], next: undefined }
      const [start, end] = bucketNames(prefix)
      const from = startAfter === '' ? start : Buffer.from(`b${startAfter.slice(0, 64)}\0`, 'utf8')
      if (from.compare(end) >= 0) return { buckets: [], next: undefined }
      return storage.scan(from.compare(start) > 0 ? from : start, end, cursor => {
        const buckets: Bucket[] = []
        for (let more = cursor.next(); more; more = cursor.next()) {
          if (buckets.length === limit) return { buckets, next: buckets.at(-1)?.name }
          buckets.push(toBucket(cursor.key.toString('latin1', 1), decodeDocument(cursor.value)))
        }
        return { buckets, next: undefined }
      })
    },

    usage: async bucket => decodeUsage(await storage.counter(counterKey(bucket))),
    async usageOfFolders(bucket, limit) {
      const start = folderCounters(bucket)
      const found = await storage.counters(start, successor(start), limit)
      return new Map(found.map(({ key, sums }) => [folderOf(key, start.length), decodeUsage(sums)]))
    },

    read,

    async putObject(request) {
      const { bucket, key, attributes, body } = request
      const begunNs = nowNs()
      // Fail before a large body is received; for a small body the check in the commit is enough.
      if (body.sizeBytes === undefined || body.sizeBytes > storage.inlineBytesMax) {
        const found = await getBucket(bucket)
        await refuseHopeless(storage, found, body.sizeBytes, async () =>
          found.versioning === 'enabled' ? 0 : ((await optional(getObject, bucket, key))?.sizeBytes ?? 0),
        )
      }
      const transformed = await begin({ bucket, key }, attributes.encryptionRequest)
      const event = request.cause === 'Post' ? 'ObjectCreated:Post' : 'ObjectCreated:Put'
      if (transformed === undefined) return store(request, event, undefined, begunNs)
      try {
        return await store(request, event, transformed, begunNs)
      } finally {
        transformed.close()
      }
    },

    async copyObject(request) {
      const { source, bucket, key, attributes, checksumAlgorithm, conditions, sourceCustomerKey, origin } = request
      const begunNs = nowNs()
      if (sourceCustomerKey !== undefined && source.encryption === undefined) throw keyNotApplicable()
      const transformed = await begin({ bucket, key }, attributes.encryptionRequest, source.encryption)
      // Blobs keep the redundancy they were written with, so a different one requires a new blob.
      const { blobs } = (source as StoredVersion).data
      const isShared = blobs.length === 0 || redundancyOf(source) === redundancyOf(attributes)
      if (transformed === undefined && source.encryption === undefined && isShared) {
        return copyObject({ storage, checksums }, request)
      }
      try {
        // The bytes are written again, because a data key belongs to one object.
        const data = await read(source, 0, source.sizeBytes, sourceCustomerKey)
        try {
          const algorithm = checksumAlgorithm ?? source.checksum?.algorithm ?? 'CRC64NVME'
          const body = bodyOf(data, source.sizeBytes, wholeChecksum(source.checksum, algorithm))
          const stored = { bucket, key, attributes, body, checksumAlgorithm: algorithm, conditions, origin }
          return await store(stored, 'ObjectCreated:Copy', transformed, begunNs)
        } finally {
          if (data.kind === 'stream') data.close()
        }
      } finally {
        transformed?.close()
      }
    },

    async renameObject({ source, origin, ...request }) {
      const seen = source && {
        sequence: (source as StoredVersion).sequence,
        tags: source.tags,
        sealed: source.encryption?.sealed,
      }
      const { bucket, key, sourceKey } = request
      const present = source?.encryption
      const encryption =
        present && (await requireTransform().rename({ bucket, key: sourceKey }, { bucket, key }, present))
      await storage.execute('objects.renameObject', { ...request, seen, encryption, origin: packOrigin(origin) })
    },

    async deleteObject(bucket, key, versionId, conditions, options) {
      const { bypassGovernance, origin } = options ?? {}
      const args = { bucket, key, versionId, conditions, bypassGovernance, origin: packOrigin(origin) }
      return storage.execute<DeleteResult>('objects.deleteObject', args)
    },

    deleteObjects: (bucket, items, origin) => deleteObjects(storage, bucket, items, packOrigin(origin)),

    async changeVersion(bucket, key, versionId, change, origin) {
      const args = { bucket, key, versionId, change, origin: packOrigin(origin) }
      return storage.execute<string>('objects.changeVersion', args)
    },

    async listObjects(request) {
      await getBucket(request.bucket)
      return listObjects(storage, request)
    },

    async listVersions(request) {
      await getBucket(request.bucket)
      return listVersions(storage, request)
    },

    async createUpload({ bucket, key, attributes: given, checksumAlgorithm, checksumType, isChecksumUnasked }) {
      // Not stored: the request may contain a customer's key.
      const { encryptionRequest: requested, ...attributes } = given
      const encryption = await (requested === undefined ? transform() : requireTransform())?.beginUpload(
        { bucket, key },
        requested,
      )
      const document = {
        attributes: packAttributes(attributes),
        checksumAlgorithm: checksumAlgorithm ?? null,
        checksumType: checksumType ?? null,
        ...(isChecksumUnasked && { isChecksumUnasked }),
        ...(encryption === undefined ? undefined : { encryption: encodeEncryption(encryption) }),
        ...(encryption !== undefined && requested === undefined ? { isEncryptedUnasked: true } : undefined),
      }
      const created = await storage.execute<{ uploadId: string; startedMs: number }>('objects.createUpload', {
        bucket,
        key,
        nonce: random.bytes(9).toString('hex'),
        document,
      })
      return { bucket, key, attributes, checksumAlgorithm, checksumType, isChecksumUnasked, encryption, ...created }
    },

    async changeUpload(bucket, key, uploadId, encryption) {
      await storage.execute('objects.changeUpload', { bucket, key, uploadId, encryption })
    },

    listEncrypted: (bucket, after) => listEncrypted(storage, bucket, after),

    putPart: storePart,

    async copyPart(found, partNumber, source, start, length, sourceCustomerKey) {
      const data = await read(source, start, length, sourceCustomerKey)
      try {
        const upload = await encryptedAs(found, source.encryption)
        const part = await storePart(upload, partNumber, bodyOf(data, length))
        return { ...part, upload }
      } finally {
        // Also after the payload was refused without being read.
        if (data.kind === 'stream') data.close()
      }
    },

    async listParts(upload, marker, maxParts) {
      const stored = await readParts(upload.bucket, upload.uploadId, marker, maxParts + 1)
      const parts = [...stored].slice(0, maxParts).map(([partNumber, version]) => toPart(partNumber, version))
      return { parts, isTruncated: stored.size > maxParts && maxParts > 0 }
    },

    async requireCompletable(bucket, key, uploadId) {
      try {
        await getUpload(bucket, key, uploadId)
      } catch (error) {
        if (!isCatalogError(error) || error.code !== 'NoSuchUpload') throw error
        const current = await optional(getObject, bucket, key)
        if (current?.uploadId !== uploadId) throw error
      }
    },

    async completeUpload(request) {
      const { bucket, key } = request
      try {
        return await completeSteadily(request)
      } catch (error) {
        // A concurrent completion was first. The same list of parts gets the same answer.
        if (!isCatalogError(error) || (error.code !== 'NoSuchUpload' && error.code !== 'InvalidPart')) throw error
        const { versioning } = await getBucket(bucket)
        const done = repeatedCompletion(await optional(getObject, bucket, key), request, versioning !== 'off')
        if (done !== undefined) return done
        throw error
      }
    },

    async abortUpload(bucket, key, uploadId) {
      await getUpload(bucket, key, uploadId)
      await abort(bucket, key, uploadId)
    },

    async listUploads(request) {
      await getBucket(request.bucket)
      const page = await listUploads(storage, request)
      const uploads = page.uploads.map(({ key, uploadId, value }) => toUpload(request.bucket, key, uploadId, value))
      return { ...page, uploads }
    },

    async indexDue(bucket, after) {
      const { keys, next } = await listUnindexed(storage, bucket, after)
      for (let from = 0; from < keys.length; from += indexedPerCommit) {
        await storage.execute('objects.indexDue', { bucket, keys: keys.slice(from, from + indexedPerCommit) })
      }
      return next
    },

    listDue: request => listDue(storage, request),

    listAges: request => listAges(storage, request),

    async expire(bucket, expiries, origin) {
      const args = { bucket, expiries, origin: packOrigin(origin) }
      return storage.execute<readonly ExpiryOutcome[]>('objects.expire', args)
    },

    removeLostVersion: (request, origin) =>
      storage.execute<RemoveLostOutcome>('objects.removeLost', { ...request, origin: packOrigin(origin) }),

    async tellLostVersion(request, origin) {
      if (isReduced(request.value)) {
        await storage.execute('objects.tellLost', { ...request, origin: packOrigin(origin) })
      }
    },
  }
}

const completeTriesMax = 4
/** Somebody else was faster. */
async function unlessGone(aborting: Promise<void>): Promise<void> {
  try {
    await aborting
  } catch (error) {
    if (!isCatalogError(error) || error.code !== 'NoSuchUpload') throw error
  }
}

/** What is aborted with its bucket is found in pages. */
const firstUploads = { prefix: '', delimiter: '', keyMarker: '', uploadIdMarker: '', maxUploads: 1000 }
/** Records rewritten per commit. */
const indexedPerCommit = 128
const noAttributes = { system: {}, user: {}, storageClass: 'STANDARD' }

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

function toUpload(bucket: string, key: string, uploadId: string, value: Uint8Array): Upload {
  const document = decodeDocument<UploadDocument>(value)
  return {
    bucket,
    key,
    uploadId,
    startedMs: document.startedMs,
    attributes: unpackAttributes(document.attributes),
    checksumAlgorithm: (document.checksumAlgorithm ?? undefined) as Upload['checksumAlgorithm'],
    checksumType: (document.checksumType ?? undefined) as Upload['checksumType'],
    isChecksumUnasked: document.isChecksumUnasked === true,
    encryption: decodeEncryption(document.encryption),
    isEncryptedUnasked: document.isEncryptedUnasked === true,
  }
}

function keyNotApplicable(): Error {
  return objectErrors.InvalidRequest('The encryption parameters are not applicable to this object.')
}

/** The checksum that a copied source's bytes must have; a composite checksum does not cover the bytes. */
function wholeChecksum(checksum: ChecksumValue | undefined, algorithm: ChecksumValue['algorithm']) {
  if (checksum?.type !== 'FULL_OBJECT' || checksum.algorithm !== algorithm) return undefined
  return { algorithm, value: Buffer.from(checksum.value, 'base64') }
}

function toPart(partNumber: number, version: StoredVersion): UploadPart {
  const { sizeBytes, etag, modifiedMs, checksum } = version
  return { partNumber, sizeBytes, etag, modifiedMs, checksum }
}

async function optional(
  getObject: (bucket: string, key: string) => MaybePromise<StoredVersion>,
  bucket: string,
  key: string,
): Promise<StoredVersion | undefined> {
  try {
    return await getObject(bucket, key)
  } catch {
    // Any error here is replaced by the caller's NoSuchUpload.
    return undefined
  }
}

/**
 * The answer for a repeated completion: a client that lost the answer sends the same list of parts again, and gets the same
 * result.
 */
function repeatedCompletion(
  current: StoredVersion | undefined,
  request: CompleteRequest,
  isVersioned: boolean,
): PutResult | undefined {
  if (current === undefined || current.uploadId !== request.uploadId) return undefined
  const digests = request.parts.map(part => Buffer.from(part.etag, 'hex'))
  const etag = `${multipartMd5(digests).toString('hex')}-${request.parts.length}`
  if (etag !== current.etag) return undefined
  const { versionId, sizeBytes, modifiedMs, checksum, tags, encryption } = current
  const shownId = isVersioned || versionId !== 'null' ? versionId : undefined
  return { etag, versionId: shownId, sizeBytes, modifiedMs, checksum, tags, encryption }
}
