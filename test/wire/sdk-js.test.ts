/** The AWS SDK for JavaScript, version 3, with its present defaults (checksums whenever an operation supports them). */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ChecksumAlgorithm,
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t from 'tap'
import { bytesOf, oddNames, sha256 } from './clients.ts'
import { createClient } from './sdk.ts'
import { accessKey, region, startServer } from './server.ts'

const server = await startServer()
t.teardown(() => server.remove())

const s3 = createClient(server)
t.teardown(() => s3.destroy())
const Bucket = 'sdk-js'

t.test('buckets', async t => {
  await s3.send(new CreateBucketCommand({ Bucket }))
  await s3.send(new CreateBucketCommand({ Bucket }))
  t.equal((await s3.send(new HeadBucketCommand({ Bucket }))).BucketRegion, region)
  await t.rejects(s3.send(new HeadBucketCommand({ Bucket: 'no-such-bucket-here' })), { name: 'NotFound' })
})

t.test('odd keys, metadata and empty bodies come back as they went', async t => {
  for (const Key of [...oddNames, 'a', 'a/b', '/leading', 'trailing/', 'two//slashes', '../up', 'x/../y', '%2F', 'é']) {
    const Body = bytesOf(Key, Key.length)
    const Metadata = { note: `about-${Key.length}` }
    await s3.send(new PutObjectCommand({ Bucket, Key, Body, Metadata, ContentType: 'text/odd' }))
    const got = await s3.send(new GetObjectCommand({ Bucket, Key }))
    t.same(Buffer.from(await got.Body!.transformToByteArray()), Body, Key)
    t.same(got.Metadata, Metadata)
    t.equal(got.ContentType, 'text/odd')
  }
  await s3.send(new PutObjectCommand({ Bucket, Key: 'empty' }))
  t.equal((await s3.send(new HeadObjectCommand({ Bucket, Key: 'empty' }))).ContentLength, 0)
})

t.test(
  'each checksum algorithm, sent as header and as trailer, is stored, returned and verified by the SDK',
  async t => {
    const bytes = bytesOf('checksums', 200_000)
    for (const algorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] satisfies ChecksumAlgorithm[]) {
      for (const form of ['buffer', 'stream']) {
        const Key = `checksum/${algorithm}/${form}`
        const Body = form === 'buffer' ? bytes : Readable.from([bytes.subarray(0, 70_000), bytes.subarray(70_000)])
        const put = await s3.send(
          new PutObjectCommand({ Bucket, Key, Body, ContentLength: bytes.length, ChecksumAlgorithm: algorithm }),
        )
        const name = `Checksum${algorithm}` as 'ChecksumCRC32'
        const got = await s3.send(new GetObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }))
        t.equal(sha256(await got.Body!.transformToByteArray()), sha256(bytes), Key)
        t.ok(got[name], `${Key} is returned`)
        t.equal(got[name], put[name])
        t.equal(got.ChecksumType, 'FULL_OBJECT')
      }
    }
    await t.rejects(
      s3.send(new PutObjectCommand({ Bucket, Key: 'checksum/wrong', Body: bytes, ChecksumCRC32: 'AAAAAA==' })),
      { name: 'BadDigest' },
    )
    await t.rejects(s3.send(new HeadObjectCommand({ Bucket, Key: 'checksum/wrong' })), { name: 'NotFound' })
  },
)

t.test('a client that sends checksums only if they are required', async t => {
  const sparing = createClient(server, {
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  await sparing.send(new PutObjectCommand({ Bucket, Key: 'sparing', Body: 'no checksum' }))
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'sparing', ChecksumMode: 'ENABLED' }))
  t.equal(await got.Body!.transformToString(), 'no checksum')
  t.ok(got.ChecksumCRC64NVME, 'the server computed one of its own')
  await sparing.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'sparing' }] } }))
  sparing.destroy()
})

t.test('lib-storage uploads a stream of unknown length in parts', async t => {
  const bytes = bytesOf('lib-storage', 20 << 20)
  async function* pieces() {
    for (let offset = 0; offset < bytes.length; offset += 100_003) yield bytes.subarray(offset, offset + 100_003)
  }
  const done = await new Upload({
    client: s3,
    params: { Bucket, Key: 'upload', Body: Readable.from(pieces()), ContentType: 'video/odd' },
    partSize: 6 << 20,
  }).done()
  t.match(done.ETag, /^"[0-9a-f]{32}-4"$/)
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'upload' }))
  t.equal(got.ContentType, 'video/odd')
  t.equal(sha256(await got.Body!.transformToByteArray()), sha256(bytes))
  const part = await s3.send(new GetObjectCommand({ Bucket, Key: 'upload', PartNumber: 4 }))
  t.equal(part.PartsCount, 4)
  t.same(Buffer.from(await part.Body!.transformToByteArray()), bytes.subarray(18 << 20))
  const attributes = await s3.send(
    new GetObjectAttributesCommand({ Bucket, Key: 'upload', ObjectAttributes: ['ETag', 'ObjectSize', 'ObjectParts'] }),
  )
  t.equal(attributes.ObjectSize, 20 << 20)
  t.equal(attributes.ETag, done.ETag!.replaceAll('"', ''))
  t.equal(attributes.ObjectParts?.TotalPartsCount, 4)
})

t.test('an aborted upload leaves nothing to be seen', async t => {
  function* pieces(): Generator<Buffer> {
    for (let sent = 0; sent < 100; sent++) yield Buffer.alloc(1 << 20)
  }
  const upload = new Upload({ client: s3, params: { Bucket, Key: 'aborted', Body: Readable.from(pieces()) } })
  // Once a part has been stored: what is aborted before its creation is answered may still be created afterwards.
  upload.once('httpUploadProgress', () => void upload.abort())
  await t.rejects(upload.done(), { name: 'AbortError' })
  await t.rejects(s3.send(new HeadObjectCommand({ Bucket, Key: 'aborted' })), { name: 'NotFound' })
  // The client goes on to abort the upload by itself, without being waited for.
  const open = async () => (await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads ?? []
  for (let attempt = 0; attempt < 900 && (await open()).length > 0; attempt++) await sleep(100)
  t.same(await open(), [])
})

t.test('conditions decide on write and on delete', async t => {
  const Key = 'conditions'
  const first = await s3.send(new PutObjectCommand({ Bucket, Key, Body: '1', IfNoneMatch: '*' }))
  await t.rejects(s3.send(new PutObjectCommand({ Bucket, Key, Body: '2', IfNoneMatch: '*' })), {
    name: 'PreconditionFailed',
  })
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: '3', IfMatch: first.ETag }))
  await t.rejects(s3.send(new PutObjectCommand({ Bucket, Key, Body: '4', IfMatch: first.ETag })), {
    name: 'PreconditionFailed',
  })
  await t.rejects(s3.send(new DeleteObjectCommand({ Bucket, Key, IfMatch: first.ETag })), {
    name: 'PreconditionFailed',
  })
  const got = await s3.send(new GetObjectCommand({ Bucket, Key }))
  t.equal(await got.Body!.transformToString(), '3')
  const unchanged = await s3.send(new GetObjectCommand({ Bucket, Key, IfNoneMatch: got.ETag })).catch(error => error)
  t.equal(unchanged.$metadata.httpStatusCode, 304)
  const racers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) =>
      s3.send(new PutObjectCommand({ Bucket, Key: 'race', Body: String(n), IfNoneMatch: '*' })),
    ),
  )
  t.equal(racers.filter(({ status }) => status === 'fulfilled').length, 1, 'of eight at once, one wins')
})

t.test('copies', async t => {
  const CopySource = encodeURI(`${Bucket}/ünïcödé/日本語.txt`)
  const copy = await s3.send(new CopyObjectCommand({ Bucket, Key: 'copied', CopySource }))
  t.ok(copy.CopyObjectResult?.ETag)
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'copied' }))
  t.equal(got.ContentType, 'text/odd')
  await t.rejects(s3.send(new CopyObjectCommand({ Bucket, Key: 'x', CopySource: `${Bucket}/nothing` })), {
    name: 'NoSuchKey',
  })
})

t.test('a listing of 2,500 keys is complete and in byte order, and a thousand are deleted at once', async t => {
  const keys = Array.from(
    { length: 2500 },
    (_, n) => `many/${(n * 7919) % 2500}${n % 5 === 0 ? '😀' : n % 7 === 0 ? '\uffee' : ''}`,
  )
  const queue = [...keys]
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let Key = queue.pop(); Key !== undefined; Key = queue.pop()) {
        await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }))
      }
    }),
  )
  const seen: string[] = []
  let pages = 0
  for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket, Prefix: 'many/' })) {
    pages++
    for (const { Key } of page.Contents ?? []) seen.push(Key!)
  }
  t.equal(pages, 3)
  t.same(
    seen,
    keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  )
  for (let start = 0; start < keys.length; start += 1000) {
    const Objects = keys.slice(start, start + 1000).map(Key => ({ Key }))
    const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    t.equal(Deleted?.length, Objects.length)
    t.equal(Errors, undefined)
  }
})

t.test('presigned requests', async t => {
  const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'by url' }), { expiresIn: 60 })
  const bare = createClient(server, { requestChecksumCalculation: 'WHEN_REQUIRED' })
  const plain = await getSignedUrl(bare, new PutObjectCommand({ Bucket, Key: 'by url' }), { expiresIn: 60 })
  bare.destroy()
  t.equal((await fetch(plain, { method: 'PUT', body: 'through the browser' })).status, 200)
  const trap = await fetch(url, { method: 'PUT', body: 'through the browser' })
  t.not(trap.status, 200, 'the SDK signed the checksum of an empty body into the address')
  t.match(await trap.text(), /requestChecksumCalculation/, 'and the answer says which option of the SDK is to blame')
  const get = await getSignedUrl(
    s3,
    new GetObjectCommand({ Bucket, Key: 'by url', ResponseContentType: 'text/chosen' }),
  )
  const answer = await fetch(get)
  t.equal(answer.headers.get('content-type'), 'text/chosen')
  t.equal(await answer.text(), 'through the browser')
  const expired = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'by url' }), {
    expiresIn: 1,
    signingDate: new Date(Date.now() - 60_000),
  })
  const late = await fetch(expired)
  t.equal(late.status, 403)
  t.match(await late.text(), /Request has expired/)
})

t.test('errors are the ones that the SDK knows', async t => {
  const missing = await s3.send(new GetObjectCommand({ Bucket, Key: 'nothing' })).catch(error => error)
  t.type(missing, NoSuchKey)
  t.ok(missing.$metadata.requestId)
  const stranger = createClient(server, {
    credentials: { accessKeyId: accessKey, secretAccessKey: 'wrong-secret' },
  })
  await t.rejects(stranger.send(new GetObjectCommand({ Bucket, Key: 'a' })), { name: 'SignatureDoesNotMatch' })
  stranger.destroy()
  await t.rejects(s3.send(new DeleteBucketCommand({ Bucket })), { name: 'BucketNotEmpty' })
})

t.test('written objects are readable after a stop and a start', async t => {
  t.equal(await server.stop(), 0)
  await server.start()
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'upload' }))
  t.equal(sha256(await got.Body!.transformToByteArray()), sha256(bytesOf('lib-storage', 20 << 20)))
})
