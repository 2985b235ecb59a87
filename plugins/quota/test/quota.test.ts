/** Quotas: what counts, what is refused, and that no number of writers passes one. SEED and ROUNDS choose histories. */
import assert from 'node:assert/strict'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { isCatalogError } from 'svc/kernel'
import type { Body } from 'svc/plugins/objects/api'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import { testRounds } from 'svc/testing'
import t from 'tap'

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const runCount = testRounds({ laptop: 60, ci: 60, long: 1000 })
const server = await startServer()
t.teardown(() => server.stop())
t.comment(`seed ${seed}, ${runCount} histories`)
const { client } = server
const { quota, objects } = server.kernel.services

let bucketCount = 0
async function newBucket(quotaBytes: number, versioned = false): Promise<string> {
  const Bucket = `quota-${++bucketCount}`
  await client.send(new CreateBucketCommand({ Bucket }))
  if (versioned) {
    await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  }
  await quota.set(Bucket, quotaBytes)
  return Bucket
}
const put = (Bucket: string, Key: string, size: number) =>
  outcome(client.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(size) })))

t.test('a bucket takes exactly its quota', async t => {
  const bucket = await newBucket(1000)
  t.equal(await quota.get(bucket), 1000)
  t.equal(await put(bucket, 'a', 1001), '403 QuotaExceeded')
  t.equal(await put(bucket, 'a', 600), 'ok')
  t.equal(await put(bucket, 'b', 401), '403 QuotaExceeded')
  t.equal(await put(bucket, 'b', 400), 'ok')
  t.equal(await put(bucket, 'empty', 0), 'ok', 'what has no bytes has room')
  t.equal(await put(bucket, 'a', 600), 'ok', 'an overwrite replaces bytes')
  t.equal(await put(bucket, 'a', 601), '403 QuotaExceeded')
  const copy = (Key: string) =>
    outcome(client.send(new CopyObjectCommand({ Bucket: bucket, Key, CopySource: `${bucket}/b` })))
  t.equal(await copy('c'), '403 QuotaExceeded')
  t.equal(await copy('a'), 'ok', 'a copy over a larger object')
  t.equal((await objects.usage(bucket)).sizeBytes, 800)
})

t.test('versions count, delete markers do not, and deletes always work', async t => {
  const bucket = await newBucket(1000, true)
  t.equal(await put(bucket, 'a', 500), 'ok')
  t.equal(await put(bucket, 'a', 500), 'ok')
  t.equal(await put(bucket, 'a', 1), '403 QuotaExceeded', 'the older version is still there')
  await quota.set(bucket, 10)
  t.equal((await objects.usage(bucket)).sizeBytes, 1000, 'a lower quota removes nothing')
  t.equal(await put(bucket, 'a', 1), '403 QuotaExceeded')
  t.equal(await outcome(client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a' }))), 'ok')
  const { versions } = await objects.listVersions({
    bucket,
    prefix: '',
    delimiter: '',
    keyMarker: '',
    versionIdMarker: '',
    maxKeys: 10,
  })
  for (const { versionId } of versions) {
    t.equal(
      await outcome(client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'a', VersionId: versionId }))),
      'ok',
    )
  }
  t.equal(await put(bucket, 'a', 10), 'ok')
  await quota.set(bucket, 0)
  t.equal(await quota.get(bucket), 0)
  t.equal(await put(bucket, 'b', 2000), 'ok')
})

t.test('parts count from when they are there, so that a completion always has room', async t => {
  const mib = 1024 ** 2
  const Bucket = await newBucket(8 * mib)
  const begun = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'k' }))
  const upload = { Bucket, Key: 'k', UploadId: begun.UploadId }
  const part = (PartNumber: number, size: number) =>
    client.send(new UploadPartCommand({ ...upload, PartNumber, Body: Buffer.alloc(size) }))
  const { ETag } = await part(1, 6 * mib)
  t.equal(await outcome(part(2, 3 * mib)), '403 QuotaExceeded')
  t.equal(await put(Bucket, 'other', 3 * mib), '403 QuotaExceeded', 'pending parts take room')
  const told = { name: 'QuotaExceeded', message: new RegExp(`Parts of uploads .* count: they have ${6 * mib} bytes`) }
  await t.rejects(part(2, 3 * mib), told, 'without the part that is refused')
  await t.rejects(client.send(new PutObjectCommand({ Bucket, Key: 'other', Body: Buffer.alloc(3 * mib) })), told)
  t.equal(await outcome(part(1, 6 * mib)), 'ok', 'the same part again takes the place of the first')
  await quota.set(Bucket, 1)
  const completed = client.send(
    new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }),
  )
  t.equal(await outcome(completed), 'ok')
  t.equal((await objects.usage(Bucket)).sizeBytes, 6 * mib)
  const second = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'l' }))
  const abandoned = { Bucket, Key: 'l', UploadId: second.UploadId }
  t.equal(
    await outcome(client.send(new UploadPartCommand({ ...abandoned, PartNumber: 1, Body: 'xx' }))),
    '403 QuotaExceeded',
  )
  t.equal(await outcome(client.send(new AbortMultipartUploadCommand(abandoned))), 'ok')
})

t.test('a quota is a number of bytes, of a bucket that is there', async t => {
  const bucket = await newBucket(0)
  for (const wrong of [-1, 0.5, Number.NaN, 2 ** 53]) {
    await t.rejects(quota.set(bucket, wrong), { code: 'InvalidArgument' }, String(wrong))
  }
  await t.rejects(quota.set('nowhere', 1), { code: 'NoSuchBucket' })
  await t.rejects(quota.get('nowhere'), { code: 'NoSuchBucket' })
})

function payload(size: number): Body {
  return {
    sizeBytes: size,
    expectedDigests: () => ({ md5: undefined, checksum: undefined }),
    async consume(sink) {
      if (size > 0) await sink(Buffer.alloc(size))
    },
  }
}

const attributes = { system: {}, user: {}, storageClass: 'STANDARD' }
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('put' as const), key: fc.nat(4), size: fc.nat(400) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('put' as const), key: fc.nat(4), size: fc.constant(140_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), key: fc.nat(4), size: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('part' as const), key: fc.nat(4), size: fc.nat(400) }) },
)

t.test('writers at the same time never pass a quota, and sums stay exact', async t => {
  const history = fc.record({
    versioned: fc.boolean(),
    quotaBytes: fc.constantFrom(500, 1500, 141_000),
    steps: fc.array(step, { minLength: 5, maxLength: 60 }),
  })
  let refused = 0
  let stored = 0
  await fc.assert(
    fc.asyncProperty(history, async ({ versioned, quotaBytes, steps }) => {
      const bucket = await newBucket(quotaBytes, versioned)
      const upload = await objects.createUpload({
        bucket,
        key: 'u',
        attributes,
        checksumAlgorithm: undefined,
        checksumType: undefined,
      })
      const partBytes = new Map<number, number>()
      await Promise.all(
        steps.map(async ({ do: what, key, size }) => {
          try {
            if (what === 'delete') await objects.deleteObject(bucket, `k${key}`)
            else if (what === 'part') {
              await objects.putPart(upload, key + 1, payload(size))
              partBytes.set(key, size)
            } else {
              await objects.putObject({
                bucket,
                key: `k${key}`,
                attributes,
                body: payload(size),
                checksumAlgorithm: undefined,
              })
            }
            stored++
          } catch (error) {
            assert.ok(what !== 'delete' && isCatalogError(error) && error.code === 'QuotaExceeded', String(error))
            refused++
          }
          const { sizeBytes } = await objects.usage(bucket)
          assert.ok(sizeBytes <= quotaBytes, `${sizeBytes} of ${quotaBytes} bytes`)
        }),
      )
      const { versions } = await objects.listVersions({
        bucket,
        prefix: '',
        delimiter: '',
        keyMarker: '',
        versionIdMarker: '',
        maxKeys: 1000,
      })
      const walked = versions.reduce((sum, version) => sum + version.sizeBytes, 0)
      assert.equal((await objects.usage(bucket)).sizeBytes, walked)
      const { parts } = await objects.listParts(upload, 0, 100)
      const inParts = parts.reduce((sum, part) => sum + part.sizeBytes, 0)
      assert.ok(walked + inParts <= quotaBytes, `${walked} and ${inParts} in parts, of ${quotaBytes} bytes`)
      // To the byte: what is left is taken, and not one byte more.
      const left = quotaBytes - walked - inParts
      const last = (size: number) =>
        objects.putObject({ bucket, key: 'last', attributes, body: payload(size), checksumAlgorithm: undefined })
      await assert.rejects(last(left + 1), { code: 'QuotaExceeded' })
      await last(left)
    }),
    { seed, numRuns: runCount },
  )
  t.ok(refused > 0 && stored > 0, `${stored} stored, ${refused} refused`)
})
