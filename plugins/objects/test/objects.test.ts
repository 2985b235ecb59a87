/** The rules of buckets, objects, listings and uploads, over a real drive in a temporary folder. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { type BlobWriter, readWindowMs, type StorageService, storageErrors } from 'svc/plugins/storage/api'
import { createSystemPorts } from 'svc/testing'
import t from 'tap'
import type { Body, ObjectsService, Upload } from '../api.ts'
import { objectErrors } from '../errors.ts'
import { createObjects } from '../objects.ts'
import { type StoredPart, totalSize } from '../parts.ts'
import { RemovedBuckets } from '../removed-buckets.ts'
import { collect, owner, payload, startObjects } from './start.ts'

const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
const { objects, storage, checksums, folder, advance, stop } = await startObjects()
const { clock, random } = createSystemPorts()
t.teardown(stop)

let bucketCount = 0
async function newBucket(): Promise<string> {
  const name = `bucket-${++bucketCount}`
  await objects.createBucket(name, { region: 'us-east-1', owner })
  return name
}

function put(
  bucket: string,
  key: string,
  bytes: Buffer | string = '',
  extra: Partial<Parameters<ObjectsService['putObject']>[0]> = {},
) {
  const body = payload(Buffer.from(bytes))
  return objects.putObject({ bucket, key, attributes, body, checksumAlgorithm: undefined, ...extra })
}

async function get(bucket: string, key: string, start = 0, length?: number): Promise<Buffer> {
  const version = await objects.getObject(bucket, key)
  return collect(await objects.read(version, start, length ?? version.sizeBytes))
}

/** Bytes without repetition, so that a misplaced block is detected. */
function pattern(sizeBytes: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(sizeBytes)
  let state = seed
  for (let i = 0; i < sizeBytes; i++) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff
    bytes[i] = state >> 16
  }
  return bytes
}

const md5 = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex')

t.test('a body that is still received when its bucket is made again is not stored in the new one', async t => {
  const bucket = await newBucket()
  const [small, large] = [pattern(100), pattern(storage.inlineBytesMax + 1)]
  for (const [bytes, sizeBytes] of [
    [small, small.length],
    [small, undefined],
    [large, large.length],
    [large, undefined],
  ] as const) {
    const [begun, received] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const whole = payload(bytes)
    const body: Body = {
      ...whole,
      sizeBytes,
      async consume(sink) {
        begun.resolve()
        await received.promise
        await whole.consume(sink)
      },
    }
    const writing = objects.putObject({ bucket, key: 'late', attributes, body, checksumAlgorithm: undefined })
    await begun.promise
    advance(1)
    await objects.deleteBucket(bucket)
    await objects.createBucket(bucket, { region: 'us-east-1', owner })
    received.resolve()
    await t.rejects(writing, { code: 'NoSuchBucket' })
    await t.rejects((async () => objects.getObject(bucket, 'late'))(), { code: 'NoSuchKey' })
  }
  for (const bytes of [small, large]) {
    await put(bucket, 'late', bytes)
    t.equal((await get(bucket, 'late')).length, bytes.length)
  }
})

t.test('a deletion that is forgotten still refuses what began before it', t => {
  const removed = new RemovedBuckets()
  removed.add('first', 1)
  t.ok(removed.isRemovedSince('first', 0))
  t.notOk(removed.isRemovedSince('first', 2))
  t.notOk(removed.isRemovedSince('other', 0))
  removed.add('first', 5)
  t.ok(removed.isRemovedSince('first', 4), 'the last deletion counts')
  for (let i = 0; i < 60_000; i++) removed.add(`bucket-${i}`, 10 + i)
  t.ok(removed.isRemovedSince('first', 4))
  t.ok(removed.isRemovedSince('other', 0), 'which may have been forgotten')
  t.notOk(removed.isRemovedSince('other', 100_000))
  t.end()
})

t.test('a bucket is created once, found, listed and deleted when empty', async t => {
  const bucket = await newBucket()
  t.match(await objects.getBucket(bucket), { name: bucket, region: 'us-east-1', ownerId: owner.ownerId })
  await t.rejects(objects.createBucket(bucket, { region: 'us-east-1', owner }), { code: 'BucketAlreadyOwnedByYou' })
  const other = { ...owner, ownerId: 'f'.repeat(64) }
  await t.rejects(objects.createBucket(bucket, { region: 'us-east-1', owner: other }), { code: 'BucketAlreadyExists' })
  await put(bucket, 'k', 'v')
  await t.rejects(objects.deleteBucket(bucket), { code: 'BucketNotEmpty' })
  await objects.deleteObject(bucket, 'k')
  const upload = await objects.createUpload({
    bucket,
    key: 'k',
    attributes,
    checksumAlgorithm: undefined,
    checksumType: undefined,
  })
  const part = { bucket, key: 'k', uploadId: upload.uploadId }
  await put(bucket, 'l', 'v')
  await t.rejects(objects.deleteBucket(bucket), { code: 'BucketNotEmpty' })
  t.ok(await objects.getUpload(bucket, 'k', upload.uploadId), 'a bucket that stays keeps its uploads')
  await objects.deleteObject(bucket, 'l')
  await objects.deleteBucket(bucket)
  await t.rejects(async () => objects.getUpload(part.bucket, part.key, part.uploadId), { code: /NoSuch/ })
  await t.rejects(async () => objects.getBucket(bucket), { code: 'NoSuchBucket' })
  await t.rejects(objects.deleteBucket(bucket), { code: 'NoSuchBucket' })
})

t.test('buckets are listed by name, in pages', async t => {
  for (const name of ['page-b', 'page-a', 'page-c']) await objects.createBucket(name, { region: 'us-east-1', owner })
  const first = await objects.listBuckets({ prefix: 'page-', startAfter: '', limit: 2 })
  t.same(
    first.buckets.map(bucket => bucket.name),
    ['page-a', 'page-b'],
  )
  const second = await objects.listBuckets({ prefix: 'page-', startAfter: first.next!, limit: 2 })
  t.same(
    second.buckets.map(bucket => bucket.name),
    ['page-c'],
  )
  t.equal(second.next, undefined)
})

t.test('an object is read back unchanged, at every size around the limits', async t => {
  const bucket = await newBucket()
  const limit = 128 * 1024
  for (const sizeBytes of [0, 1, 4096, limit - 1, limit, limit + 1, 262_144, 262_145, 1_048_577, 5_000_000]) {
    const bytes = pattern(sizeBytes, sizeBytes + 1)
    for (const announced of [true, false]) {
      const body = payload(bytes, { announced, chunkBytes: 50_001 })
      const result = await objects.putObject({ bucket, key: 'k', attributes, body, checksumAlgorithm: 'SHA256' })
      t.equal(result.etag, md5(bytes), `ETag of ${sizeBytes} bytes`)
      t.equal(result.checksum?.value, createHash('sha256').update(bytes).digest('base64'))
      t.ok(
        (await get(bucket, 'k')).equals(bytes),
        `${sizeBytes} bytes, ${announced ? 'announced' : 'of unknown length'}`,
      )
    }
    if (sizeBytes > 10) {
      t.ok((await get(bucket, 'k', 3, sizeBytes - 7)).equals(bytes.subarray(3, sizeBytes - 4)), 'a range in the middle')
      t.ok((await get(bucket, 'k', sizeBytes - 1, 1)).equals(bytes.subarray(-1)), 'the last byte')
    }
  }
})

t.test('metadata is returned unchanged', async t => {
  const bucket = await newBucket()
  const given = {
    system: { contentType: 'text/plain', cacheControl: 'no-store', expires: 'never' },
    user: { name: 'wert', ü: 'ö' },
    storageClass: 'REDUCED_REDUNDANCY',
    tags: new Map([['a', 'b']]),
  }
  await put(bucket, 'k', 'v', { attributes: given })
  t.match(await objects.getObject(bucket, 'k'), {
    ...given,
    sizeBytes: 1,
    versionId: 'null',
    isDeleteMarker: false,
    parts: [],
  })
})

t.test('a wrong expected digest is refused and leaves nothing', async t => {
  const bucket = await newBucket()
  for (const bytes of [Buffer.from('small'), pattern(1_000_000)]) {
    const wrongMd5 = payload(bytes, { digests: { md5: Buffer.alloc(16) } })
    await t.rejects(put(bucket, 'k', '', { body: wrongMd5 }), { code: 'BadDigest' })
    const wrongSum = payload(bytes, { digests: { checksum: { algorithm: 'CRC32', value: Buffer.alloc(4) } } })
    await t.rejects(put(bucket, 'k', '', { body: wrongSum, checksumAlgorithm: 'CRC32' }), { code: 'BadDigest' })
    const otherSum = payload(bytes, { digests: { checksum: { algorithm: 'CRC32', value: Buffer.alloc(4) } } })
    await t.rejects(put(bucket, 'k', '', { body: otherSum, checksumAlgorithm: 'SHA1' }), { code: 'InvalidRequest' })
    const broken: Body = {
      ...payload(bytes),
      consume: async sink => {
        await sink(bytes.subarray(0, 3))
        throw new Error('gone')
      },
    }
    await t.rejects(put(bucket, 'k', '', { body: broken }), { message: 'gone' })
  }
  await t.rejects(async () => objects.getObject(bucket, 'k'), { code: 'NoSuchKey' })
  t.same(await objects.usage(bucket), {
    objects: 0,
    versions: 0,
    deleteMarkers: 0,
    sizeBytes: 0,
    uploads: 0,
    uploadBytes: 0,
  })
})

t.test('bytes of an in-doubt write stay for its record, those of a refused write are deleted', async t => {
  const bucket = await newBucket()
  const kept: BlobWriter[] = []
  let aborted = 0
  let abandoned = 0
  let knowsLater = false
  let error: Error = storageErrors.full()
  // The commit is not made here; but the error does not tell whether it was.
  const failing: StorageService = {
    ...storage,
    inlineBytesMax: storage.inlineBytesMax,
    execute: async () => {
      throw error
    },
    createBlob(sizeHint) {
      const writer = storage.createBlob(sizeHint)
      kept.push(writer)
      const abandon = { abandon: async () => void abandoned++ }
      const given = {
        id: writer.id,
        write: (chunk: Buffer) => writer.write(chunk),
        finish: () => writer.finish(),
        abort,
      }
      return { ...writer, ...given, ...(knowsLater && abandon) }
    },
  }
  const abort = async () => {
    aborted++
  }
  t.teardown(() => Promise.all(kept.map(writer => writer.abort())))
  const { putObject } = createObjects({ storage: failing, checksums, random, clock, transform: () => undefined })
  const cases: [Error, number][] = [
    [storageErrors.full(), 1],
    [objectErrors.PreconditionFailed(), 1],
    [storageErrors.unavailable(), 0],
    [storageErrors.faulty(), 0],
    [new Error('the thread has ended'), 0],
  ]
  for (knowsLater of [false, true]) {
    for (const [thrown, times] of cases) {
      error = thrown
      aborted = 0
      abandoned = 0
      const body = payload(pattern(300_000))
      await t.rejects(putObject({ bucket, key: 'k', attributes, body, checksumAlgorithm: undefined }), thrown)
      t.equal(aborted, times, thrown.message)
      t.equal(
        abandoned,
        knowsLater ? 1 - times : 0,
        `${thrown.message} The storage finds out whether a record needs them.`,
      )
    }
  }
})

t.test('a body whose digests fail is not stored, and its bytes are deleted', async t => {
  const bucket = await newBucket()
  await put(bucket, 'k', 'before')
  const thrown = new Error('The digest thread ended')
  let [finished, aborted] = [0, 0]
  const watched: StorageService = {
    ...storage,
    inlineBytesMax: storage.inlineBytesMax,
    createBlob(sizeHint, options) {
      const writer = storage.createBlob(sizeHint, options)
      const finish = async () => {
        const ref = await writer.finish()
        finished++
        return ref
      }
      const abort = async () => {
        aborted++
        await writer.abort()
      }
      return { ...writer, id: writer.id, write: chunk => writer.write(chunk), finish, abort }
    },
  }
  for (const failsAt of ['update', 'digest']) {
    const createDigests: typeof checksums.createDigests = options => {
      const digests = checksums.createDigests(options)
      const fail = () => Promise.reject(thrown)
      return {
        update: bytes => (failsAt === 'update' ? fail() : digests.update(bytes)),
        digest: () => (failsAt === 'digest' ? fail() : digests.digest()),
        release: digests.release.bind(digests),
      }
    }
    const failing = createObjects({
      storage: watched,
      checksums: { ...checksums, createDigests },
      random,
      clock,
      transform: () => undefined,
    })
    const body = payload(pattern(700_000))
    await t.rejects(failing.putObject({ bucket, key: 'k', attributes, body, checksumAlgorithm: undefined }), thrown)
  }
  t.equal(aborted, 2)
  t.ok(finished <= 1)
  t.equal((await get(bucket, 'k')).toString(), 'before')
})

t.test('conditions are evaluated in the commit: of many concurrent first writers exactly one wins', async t => {
  const bucket = await newBucket()
  const attempts = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => put(bucket, 'k', `writer ${i}`, { conditions: { ifNoneMatch: '*' } })),
  )
  t.equal(attempts.filter(attempt => attempt.status === 'fulfilled').length, 1)
  const { etag } = await objects.getObject(bucket, 'k')
  await t.rejects(put(bucket, 'k', 'x', { conditions: { ifMatch: 'other' } }), { code: 'PreconditionFailed' })
  await t.rejects(put(bucket, 'missing', 'x', { conditions: { ifMatch: etag } }), { code: 'NoSuchKey' })
  const updates = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => put(bucket, 'k', `update ${i}`, { conditions: { ifMatch: etag } })),
  )
  t.equal(updates.filter(update => update.status === 'fulfilled').length, 1, 'compare-and-swap has one winner')
  await t.rejects(objects.deleteObject(bucket, 'k', undefined, { ifMatch: etag }), { code: 'PreconditionFailed' })
  const current = await objects.getObject(bucket, 'k')
  t.match(
    await objects.deleteObject(bucket, 'k', undefined, { ifMatch: current.etag, ifMatchSize: current.sizeBytes }),
    { existed: true },
  )
  t.match(
    await objects.deleteObject(bucket, 'k', undefined, { ifMatch: etag }),
    { existed: false },
    'deleting nothing is no error',
  )
})

t.test('usage is exact after every change, per bucket and without drift', async t => {
  const bucket = await newBucket()
  const model = new Map<string, number>()
  const random = fc.sample(
    fc.tuple(fc.constantFrom('a', 'a/b', 'c/d/e', 'c/f'), fc.constantFrom(0, 10, 200_000), fc.boolean()),
    {
      numRuns: 60,
      seed: 7,
    },
  )
  for (const [key, sizeBytes, remove] of random) {
    if (remove) {
      await objects.deleteObject(bucket, key)
      model.delete(key)
    } else {
      await put(bucket, key, pattern(sizeBytes))
      model.set(key, sizeBytes)
    }
    const sizes = [...model.values()]
    t.match(await objects.usage(bucket), {
      objects: model.size,
      versions: model.size,
      deleteMarkers: 0,
      sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    })
  }
})

const hostileKey = fc
  .array(
    fc.constantFrom('\0', '\u0001', '/', '//', 'a', 'b', '..', '.', ' ', '+', '&', '\n', '\u007f', '\uffff', '😀', 'é'),
    {
      minLength: 1,
      maxLength: 6,
    },
  )
  .map(parts => parts.join(''))
const compareBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** The expected listing, computed in the simplest way. */
function modelListing(keys: readonly string[], prefix: string, delimiter: string): string[] {
  const entries = new Set<string>()
  for (const key of keys) {
    if (!key.startsWith(prefix)) continue
    const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
    entries.add(cut === -1 ? `k:${key}` : `p:${key.slice(0, cut + delimiter.length)}`)
  }
  return [...entries].sort((a, b) => compareBytes(a.slice(2), b.slice(2)))
}

t.test('a listing in pages of any size equals that of a simple model, in UTF-8 byte order', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(hostileKey, { maxLength: 25 }),
        fc.constantFrom('', 'a', 'a/', '/', '😀', '\u0001'),
        fc.constantFrom('', '/', '//', 'a', '\0', '😀'),
        fc.integer({ min: 1, max: 7 }),
        async (keys, prefix, delimiter, maxKeys) => {
          const bucket = await newBucket()
          await Promise.all(keys.map(key => put(bucket, key)))
          const seen: string[] = []
          let startAfter: string | undefined = ''
          while (startAfter !== undefined) {
            const page = await objects.listObjects({ bucket, prefix, delimiter, startAfter, maxKeys })
            const entries = [
              ...page.objects.map(object => `k:${object.key}`),
              ...page.prefixes.map(common => `p:${common}`),
            ]
            assert.ok(entries.length <= maxKeys)
            assert.ok(entries.length > 0 || page.next === undefined, 'a page with a continuation is not empty')
            seen.push(...entries.sort((a, b) => compareBytes(a.slice(2), b.slice(2))))
            startAfter = page.next
          }
          assert.deepEqual(seen, modelListing(keys, prefix, delimiter))
        },
      ),
      { numRuns: 60 },
    ),
  )
})

t.test('a listing starts after any key, existing or not', async t => {
  const bucket = await newBucket()
  const keys = ['a', 'a/b', 'a/b/c', 'b', 'b\0', 'b\u0001', 'ä', '\uffff', '😀'].sort(compareBytes)
  await Promise.all(keys.map(key => put(bucket, key)))
  await t.resolves(
    fc.assert(
      fc.asyncProperty(hostileKey, async startAfter => {
        const page = await objects.listObjects({ bucket, prefix: '', delimiter: '', startAfter, maxKeys: 1000 })
        assert.deepEqual(
          page.objects.map(object => object.key),
          keys.filter(key => compareBytes(key, startAfter) > 0),
        )
      }),
      { numRuns: 100 },
    ),
  )
})

const mebibyte = 1024 ** 2
async function uploadOf(
  bucket: string,
  key: string,
  sizes: readonly number[],
  algorithm?: 'CRC32' | 'SHA256',
  type?: 'FULL_OBJECT' | 'COMPOSITE',
) {
  const upload = await objects.createUpload({
    bucket,
    key,
    attributes,
    checksumAlgorithm: algorithm,
    checksumType: type,
  })
  const contents = sizes.map((size, i) => pattern(size, i + 1))
  const parts = []
  for (const [i, bytes] of contents.entries()) parts.push(await objects.putPart(upload, i + 1, payload(bytes)))
  return { upload, contents, parts, whole: Buffer.concat(contents) }
}

t.test('a multipart upload becomes one object, with the ETag that S3 defines', async t => {
  const bucket = await newBucket()
  const { upload, contents, parts, whole } = await uploadOf(bucket, 'big', [5 * mebibyte, 6 * mebibyte, 10])
  const { uploadId } = upload
  await t.rejects(async () => objects.getObject(bucket, 'big'), { code: 'NoSuchKey' }, 'invisible before completion')
  const listed = await objects.listParts(upload, 1, 1)
  t.match(listed, { parts: [{ partNumber: 2, sizeBytes: 6 * mebibyte }], isTruncated: true })
  const request = { bucket, key: 'big', uploadId, parts }
  const wrong = (changed: object) => objects.completeUpload({ ...request, ...changed })
  await t.rejects(wrong({ parts: parts.toReversed() }), { code: 'InvalidPartOrder' })
  await t.rejects(wrong({ parts: [{ partNumber: 9, etag: 'x' }] }), { code: 'InvalidPart' })
  await t.rejects(wrong({ parts: [parts[2]!, { ...parts[0]!, partNumber: 4 }] }), { code: 'InvalidPart' })
  await t.rejects(wrong({ sizeBytes: 1 }), { code: 'InvalidRequest' })
  await t.rejects(wrong({ conditions: { ifMatch: 'x' } }), { code: 'NoSuchKey' })
  const result = await objects.completeUpload(request)
  const digest = createHash('md5').update(
    Buffer.concat(contents.map(bytes => createHash('md5').update(bytes).digest())),
  )
  t.equal(result.etag, `${digest.digest('hex')}-3`)
  t.ok((await get(bucket, 'big')).equals(whole))
  t.ok(
    (await get(bucket, 'big', 5 * mebibyte - 3, 7)).equals(whole.subarray(5 * mebibyte - 3, 5 * mebibyte + 4)),
    'a range over a part boundary',
  )
  t.same(
    (await objects.getObject(bucket, 'big')).parts.map(part => part.sizeBytes),
    [5 * mebibyte, 6 * mebibyte, 10],
  )
  t.same(await objects.completeUpload(request), result, 'a repeated completion gets the same answer')
  await t.rejects(wrong({ parts: parts.slice(0, 2) }), { code: 'NoSuchUpload' })
  t.match(await objects.usage(bucket), { objects: 1, sizeBytes: whole.length, uploads: 0 })
})

t.test('a part that is too small is refused unless it is the last', async t => {
  const bucket = await newBucket()
  const { upload, parts } = await uploadOf(bucket, 'k', [100, 100])
  await t.rejects(objects.completeUpload({ bucket, key: 'k', uploadId: upload.uploadId, parts }), {
    code: 'EntityTooSmall',
  })
  await objects.completeUpload({ bucket, key: 'k', uploadId: upload.uploadId, parts: parts.slice(0, 1) })
  t.equal((await get(bucket, 'k')).length, 100, 'a single listed part may be small; the unlisted one is dropped')
  t.match(await objects.usage(bucket), { objects: 1, sizeBytes: 100, uploads: 0 })
})

t.test('an aborted upload is gone; a second abort gets NoSuchUpload', async t => {
  const bucket = await newBucket()
  const { upload } = await uploadOf(bucket, 'k', [10])
  await objects.abortUpload(bucket, 'k', upload.uploadId)
  await t.rejects(objects.abortUpload(bucket, 'k', upload.uploadId), { code: 'NoSuchUpload' })
  await t.rejects(objects.putPart(upload, 1, payload(Buffer.from('x'))), { code: 'NoSuchUpload' })
  await t.rejects(async () => objects.getUpload(bucket, 'k', '../../etc'), { code: 'NoSuchUpload' })
})

t.test('of two concurrent completions one wins and the other gets the same answer', async t => {
  const bucket = await newBucket()
  const { upload, parts } = await uploadOf(bucket, 'k', [10])
  const request = { bucket, key: 'k', uploadId: upload.uploadId, parts }
  const both = await Promise.allSettled([objects.completeUpload(request), objects.completeUpload(request)])
  t.same(both[0], both[1])
  t.equal(both[0].status, 'fulfilled')
})

t.test('the checksums of parts are combined into that of the object, composite or full', async t => {
  const bucket = await newBucket()
  const composite = await uploadOf(bucket, 'c', [5 * mebibyte, 7], 'SHA256', 'COMPOSITE')
  const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest()
  const listed = composite.parts.map(part => ({
    ...part,
    checksum: { algorithm: 'SHA256' as const, value: part.checksum!.value },
  }))
  const bare = listed.map(({ partNumber, etag }) => ({ partNumber, etag }))
  const unchecked = objects.completeUpload({ bucket, key: 'c', uploadId: composite.upload.uploadId, parts: bare })
  await t.rejects(unchecked, { code: 'InvalidRequest' }, 'a composite upload requires the checksum of each part')
  const done = await objects.completeUpload({ bucket, key: 'c', uploadId: composite.upload.uploadId, parts: listed })
  t.same(done.checksum, {
    algorithm: 'SHA256',
    type: 'COMPOSITE',
    value: `${sha(Buffer.concat(composite.contents.map(sha))).toString('base64')}-2`,
  })
  const full = await uploadOf(bucket, 'f', [5 * mebibyte, 7], 'CRC32', 'FULL_OBJECT')
  const request = {
    bucket,
    key: 'f',
    uploadId: full.upload.uploadId,
    parts: full.parts.map(part => ({ partNumber: part.partNumber, etag: part.etag })),
  }
  await t.rejects(objects.completeUpload({ ...request, checksum: { algorithm: 'CRC32', value: 'AAAAAA==' } }), {
    code: 'BadDigest',
  })
  const whole = await objects.completeUpload(request)
  const direct = await put(bucket, 'd', full.whole, { checksumAlgorithm: 'CRC32' })
  t.same(whole.checksum, direct.checksum, 'combined from the parts, as if computed over the whole')
})

t.test('uploads are listed by key and then by start time', async t => {
  const bucket = await newBucket()
  const keys = ['b', 'a', 'a', 'dir/x', 'dir/y']
  const started: Upload[] = []
  for (const key of keys) {
    started.push(
      await objects.createUpload({ bucket, key, attributes, checksumAlgorithm: undefined, checksumType: undefined }),
    )
  }
  const request = { bucket, prefix: '', delimiter: '', keyMarker: '', uploadIdMarker: '', maxUploads: 1000 }
  const all = await objects.listUploads(request)
  t.same(
    all.uploads.map(upload => upload.uploadId),
    [1, 2, 0, 3, 4].map(i => started[i]!.uploadId),
  )
  const folded = await objects.listUploads({ ...request, delimiter: '/' })
  t.same([folded.uploads.length, folded.prefixes], [3, ['dir/']])
  const seen: string[] = []
  let page = await objects.listUploads({ ...request, maxUploads: 2 })
  for (;;) {
    seen.push(...page.uploads.map(upload => upload.uploadId))
    if (!page.isTruncated) break
    page = await objects.listUploads({
      ...request,
      maxUploads: 2,
      keyMarker: page.nextKeyMarker,
      uploadIdMarker: page.nextUploadIdMarker,
    })
  }
  t.same(
    seen,
    all.uploads.map(upload => upload.uploadId),
    'the pages add up',
  )
  t.equal(
    (await objects.listUploads({ ...request, keyMarker: 'a' })).uploads[0]?.key,
    'b',
    'a key marker alone skips the key',
  )
})

t.test('a copy outlives its source, and changing an attribute keeps the bytes', async t => {
  const bucket = await newBucket()
  for (const bytes of [Buffer.alloc(0), pattern(10), pattern(3_000_000)]) {
    await put(bucket, 'source', bytes)
    const source = await objects.getObject(bucket, 'source')
    const changed = { ...attributes, user: { copied: 'yes' } }
    const copy = await objects.copyObject({
      source,
      bucket,
      key: 'copy',
      attributes: changed,
      checksumAlgorithm: 'SHA1',
    })
    t.equal(copy.checksum?.value, createHash('sha1').update(bytes).digest('base64'))
    await objects.deleteObject(bucket, 'source')
    t.ok((await get(bucket, 'copy')).equals(bytes))
    t.match(await objects.getObject(bucket, 'copy'), { etag: md5(bytes), user: { copied: 'yes' } })
    const self = await objects.getObject(bucket, 'copy')
    await objects.copyObject({ source: self, bucket, key: 'copy', attributes, checksumAlgorithm: undefined })
    t.ok((await get(bucket, 'copy')).equals(bytes), 'copied onto itself')
    if (bytes.length > 1_000_000) {
      await put(bucket, 'source', bytes)
      const stale = await objects.getObject(bucket, 'source')
      await put(bucket, 'source', 'other')
      await t.rejects(
        objects.copyObject({ source: stale, bucket, key: 'late', attributes, checksumAlgorithm: undefined }),
        { code: 'gone' },
      )
    }
  }
})

t.test('a part is copied from a range of an object', async t => {
  const bucket = await newBucket()
  const bytes = pattern(1_000_000)
  await put(bucket, 'source', bytes)
  const upload = await objects.createUpload({
    bucket,
    key: 'k',
    attributes,
    checksumAlgorithm: undefined,
    checksumType: undefined,
  })
  const part = await objects.copyPart(upload, 1, await objects.getObject(bucket, 'source'), 1000, 500_000)
  t.equal(part.etag, md5(bytes.subarray(1000, 501_000)))
  await objects.completeUpload({ bucket, key: 'k', uploadId: upload.uploadId, parts: [part] })
  t.ok((await get(bucket, 'k')).equals(bytes.subarray(1000, 501_000)))
})

t.test('a missing bucket is reported before a missing key or version', async t => {
  const bucket = await newBucket()
  await t.rejects(async () => objects.getObject('no-such', 'k'), { code: 'NoSuchBucket' })
  await t.rejects(async () => objects.getObject(bucket, 'k', '0'.repeat(14)), { code: 'NoSuchVersion' })
  await t.rejects(async () => objects.getObject(bucket, 'k', 'null'), { code: 'NoSuchVersion' })
  await t.rejects(async () => objects.getObject(bucket, 'k', 'version'), { code: 'InvalidArgument' })
  await t.rejects(put('no-such', 'k'), { code: 'NoSuchBucket' })
  await t.rejects(objects.deleteObject('no-such', 'k'), { code: 'NoSuchBucket' })
  await t.rejects(
    async () => objects.listObjects({ bucket: 'no-such', prefix: '', delimiter: '', startAfter: '', maxKeys: 1 }),
    { code: 'NoSuchBucket' },
  )
})

t.test('of many writers to one key the bytes of one remain, and none after a delete', async t => {
  const bucket = await newBucket()
  const blobs = () => globSync('blobs/*/*', { cwd: folder }).length
  const settled = async (count: number) => {
    for (let tries = 0; tries < 1800 && blobs() !== count; tries++) await setTimeout(50)
    return blobs()
  }
  // Blobs deleted by earlier tests may still be readable for a while.
  await setTimeout(readWindowMs + 1000)
  const before = blobs()
  for (let round = 0; round < 4; round++) {
    await Promise.all(Array.from({ length: 16 }, (_, i) => put(bucket, 'hot', pattern(200_000, i))))
  }
  t.equal(await settled(before + 1), before + 1)
  await objects.deleteObject(bucket, 'hot')
  t.equal(await settled(before), before)
})

t.test('an object made of parts has at most 50 TB', t => {
  const parts = (...sizes: number[]) =>
    sizes.map((sizeBytes, index) => ({ partNumber: index + 1, version: { sizeBytes } }) as StoredPart)
  const max = 50 * 1000 ** 4
  t.equal(totalSize(parts(max - 7, 7), undefined), max)
  t.throws(() => totalSize(parts(max - 7, 7, 1), undefined), { code: 'EntityTooLarge' })
  t.end()
})
