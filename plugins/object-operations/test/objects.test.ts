import { createHash } from 'node:crypto'
import {
  type ChecksumAlgorithm,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  type CopyObjectCommandInput,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectAttributesCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client, forger, anonymous } = server
const Bucket = 'objects-bucket'
await client.send(new CreateBucketCommand({ Bucket }))

const put = (Key: string, Body: string | Buffer, extra: Partial<PutObjectCommandInput> = {}) =>
  client.send(new PutObjectCommand({ Bucket, Key, Body, ...extra }))
const read = async (from: typeof client, Key: string, extra: Partial<GetObjectCommandInput>) => {
  const { Body, ...answer } = await from.send(new GetObjectCommand({ Bucket, Key, ...extra }))
  return { ...answer, bytes: Buffer.from(await Body!.transformToByteArray()) }
}
const get = (Key: string, extra: Partial<GetObjectCommandInput> = {}) => read(client, Key, extra)
const text = async (Key: string, extra: Partial<GetObjectCommandInput> = {}) => (await get(Key, extra)).bytes.toString()
const head = (Key: string, extra = {}) => client.send(new HeadObjectCommand({ Bucket, Key, ...extra }))
const etagOf = (body: string | Buffer) => `"${createHash('md5').update(body).digest('hex')}"`

t.test('every operation refuses anonymous requests and wrong secrets', async t => {
  await put('secret', 'x')
  for (const [method, target] of [
    ['GET', `/${Bucket}/secret`],
    ['GET', `/${Bucket}/not-there`],
    ['HEAD', `/${Bucket}/secret`],
    ['PUT', `/${Bucket}/new`],
    ['DELETE', `/${Bucket}/secret`],
    ['POST', `/${Bucket}?delete`],
    ['GET', `/${Bucket}/secret?attributes`],
  ] as const) {
    t.equal((await anonymous(method, target)).status, 403, `${method} ${target}`)
  }
  const Key = 'secret'
  for (const command of [
    new GetObjectCommand({ Bucket, Key }),
    new PutObjectCommand({ Bucket, Key, Body: 'y' }),
    new DeleteObjectCommand({ Bucket, Key }),
    new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key }] } }),
    new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/secret` }),
    new GetObjectAttributesCommand({ Bucket, Key, ObjectAttributes: ['ETag'] }),
  ]) {
    const refused = await outcome(forger.send(command as GetObjectCommand))
    t.equal(refused, '403 SignatureDoesNotMatch', command.constructor.name)
  }
  t.equal(await outcome(forger.send(new HeadObjectCommand({ Bucket, Key }))), '403 Unknown')
  t.equal(await text('secret'), 'x')
})

t.test('an object is read as it was stored, small or large', async t => {
  for (const sizeBytes of [0, 1, 4096, 131_072, 131_073, 1_048_577, 7_000_000]) {
    const body = Buffer.alloc(sizeBytes)
    for (let i = 0; i < sizeBytes; i++) body[i] = (i * 31 + (i >> 8)) & 0xff
    const Key = `size-${sizeBytes}`
    const stored = await put(Key, body)
    t.equal(stored.ETag, etagOf(body))
    t.equal(stored.Size, sizeBytes)
    const got = await get(Key, { ChecksumMode: 'ENABLED' })
    t.ok(body.equals(got.bytes), Key)
    t.match(got, { ContentLength: sizeBytes, ETag: etagOf(body), AcceptRanges: 'bytes', ChecksumType: 'FULL_OBJECT' })
    t.match(await head(Key), { ContentLength: sizeBytes, ETag: etagOf(body) })
  }
})

t.test('attributes are returned, and may be overridden in an answer', async t => {
  await put('attributes', 'x', {
    ContentType: 'text/plain; charset=utf-8',
    ContentEncoding: 'gzip',
    ContentDisposition: 'attachment; filename="x"',
    ContentLanguage: 'de',
    CacheControl: 'max-age=5',
    Expires: new Date(Date.UTC(2030, 0, 1)),
    WebsiteRedirectLocation: '/elsewhere',
    StorageClass: 'REDUCED_REDUNDANCY',
    Metadata: { Color: 'blue', 'two-words': 'a  b' },
  })
  const expected = {
    ContentType: 'text/plain; charset=utf-8',
    ContentEncoding: 'gzip',
    ContentDisposition: 'attachment; filename="x"',
    ContentLanguage: 'de',
    CacheControl: 'max-age=5',
    ExpiresString: 'Tue, 01 Jan 2030 00:00:00 GMT',
    WebsiteRedirectLocation: '/elsewhere',
    StorageClass: 'REDUCED_REDUNDANCY',
    Metadata: { color: 'blue', 'two-words': 'a b' },
  }
  const { Metadata, ...rest } = await head('attributes')
  t.match(rest, { ...expected, Metadata: undefined })
  t.match(Metadata, { color: 'blue', 'two-words': /^a +b$/ })
  t.match(await head('secret'), { ContentType: 'application/octet-stream', StorageClass: undefined })
  t.match(
    await get('attributes', {
      ResponseContentType: 'image/png',
      ResponseContentDisposition: 'inline; filename="ü"',
      ResponseCacheControl: 'no-store',
    }),
    { ContentType: 'image/png', ContentDisposition: /inline/, CacheControl: 'no-store', ContentLanguage: 'de' },
  )
  t.equal(await outcome(get('attributes', { ResponseContentType: 'a\r\nSet-Cookie: x' })), '400 InvalidArgument')
  t.equal(await outcome(put('x', 'x', { StorageClass: 'GLACIER' })), '400 InvalidStorageClass')
  t.equal(await outcome(put('x', 'x', { Metadata: { a: 'x'.repeat(2048) } })), '400 MetadataTooLarge')
})

t.test('every checksum algorithm is verified, stored and returned', async t => {
  const known: Record<string, string> = {
    CRC32: 'DUoRhQ==',
    CRC32C: 'yZRlqg==',
    CRC64NVME: 'jSnVw/bqjr4=',
    SHA1: createHash('sha1').update('hello world').digest('base64'),
    SHA256: createHash('sha256').update('hello world').digest('base64'),
  }
  const plain = server.with({})
  plain.config.requestChecksumCalculation = async () => 'WHEN_REQUIRED'
  plain.config.responseChecksumValidation = async () => 'WHEN_REQUIRED'
  for (const [algorithm, value] of Object.entries(known)) {
    const Key = `checksum-${algorithm}`
    const field = `Checksum${algorithm}` as 'ChecksumCRC32'
    const stored = await put(Key, 'hello world', { [field]: value, ChecksumAlgorithm: algorithm as ChecksumAlgorithm })
    t.equal(stored[field], value, algorithm)
    t.match(await get(Key, { ChecksumMode: 'ENABLED' }), { [field]: value, ChecksumType: 'FULL_OBJECT' })
    t.equal((await read(plain, Key, {}))[field], undefined, 'only when asked for')
    t.equal((await get(Key, { ChecksumMode: 'ENABLED', Range: 'bytes=0-3' }))[field], undefined, 'never of a part')
    t.equal(await outcome(put(Key, 'hello', { [field]: value })), '400 BadDigest', algorithm)
  }
  t.match(await plain.send(new PutObjectCommand({ Bucket, Key: 'default', Body: 'hello world' })), {
    ChecksumCRC64NVME: known.CRC64NVME,
    ChecksumType: 'FULL_OBJECT',
  })
})

t.test('ranges and parts', async t => {
  await put('range', '0123456789')
  t.match(await get('range', { Range: 'bytes=2-4' }), { ContentRange: 'bytes 2-4/10', ContentLength: 3 })
  t.equal(await text('range', { Range: 'bytes=2-4' }), '234')
  t.equal(await text('range', { Range: 'bytes=-3' }), '789')
  t.equal(await text('range', { Range: 'bytes=7-' }), '789')
  t.equal(await text('range', { Range: 'bytes=7-99' }), '789')
  t.equal(await text('range', { Range: 'bytes=0-1,3-4' }), '0123456789')
  t.equal(await outcome(get('range', { Range: 'bytes=10-' })), '416 InvalidRange')
  t.equal(await outcome(get('size-0', { Range: 'bytes=0-' })), '416 InvalidRange')
  t.match(await head('range', { Range: 'bytes=2-4' }), { ContentRange: 'bytes 2-4/10', ContentLength: 3 })
  t.match(await get('range', { PartNumber: 1 }), { ContentRange: 'bytes 0-9/10', PartsCount: undefined })
  t.equal(await outcome(get('range', { PartNumber: 2 })), '416 InvalidPartNumber')
  t.equal(await outcome(get('range', { PartNumber: 0 })), '400 InvalidArgument')
  t.equal(await outcome(get('range', { PartNumber: 1, Range: 'bytes=0-1' })), '400 InvalidRequest')

  const body = Buffer.alloc(3_000_000)
  for (let i = 0; i < body.length; i += 4) body.writeUInt32LE((i * 2654435761) >>> 0, i)
  await put('range-large', body)
  await fc.assert(
    fc.asyncProperty(fc.nat(body.length - 1), fc.nat(body.length), async (start, length) => {
      const end = Math.min(start + length, body.length - 1)
      const got = await get('range-large', { Range: `bytes=${start}-${end}` })
      if (!body.subarray(start, end + 1).equals(got.bytes)) throw new Error('other bytes')
    }),
    { numRuns: 40 },
  )
})

t.test('conditions of reads', async t => {
  await put('condition', 'x')
  const { ETag, LastModified } = await head('condition')
  const second = 1000
  const earlier = new Date(LastModified!.getTime() - second)
  t.equal(await text('condition', { IfMatch: ETag }), 'x')
  t.equal(await outcome(get('condition', { IfMatch: '"other"' })), '412 PreconditionFailed')
  t.equal(await outcome(get('condition', { IfNoneMatch: ETag })), '304 Unknown')
  t.equal(await outcome(head('condition', { IfNoneMatch: ETag })), '304 Unknown')
  t.equal(await text('condition', { IfNoneMatch: '"other"' }), 'x')
  t.equal(await outcome(get('condition', { IfModifiedSince: LastModified })), '304 Unknown')
  t.equal(await text('condition', { IfModifiedSince: earlier }), 'x')
  t.equal(await outcome(get('condition', { IfUnmodifiedSince: earlier })), '412 PreconditionFailed')
  t.equal(await text('condition', { IfMatch: ETag, IfUnmodifiedSince: earlier }), 'x')
})

t.test('missing buckets, keys and versions are named', async t => {
  t.equal(await outcome(get('nothing')), '404 NoSuchKey')
  t.equal(await outcome(head('nothing')), '404 NotFound')
  t.equal(await outcome(client.send(new GetObjectCommand({ Bucket: 'no-such-bucket', Key: 'a' }))), '404 NoSuchBucket')
  t.equal(
    await outcome(client.send(new PutObjectCommand({ Bucket: 'no-such-bucket', Key: 'a', Body: 'x' }))),
    '404 NoSuchBucket',
  )
  t.equal(
    await outcome(client.send(new DeleteObjectCommand({ Bucket: 'no-such-bucket', Key: 'a' }))),
    '404 NoSuchBucket',
  )
  t.equal(await outcome(get('condition', { VersionId: 'abc' })), '400 InvalidArgument')
  t.equal(await outcome(get('condition', { VersionId: '00000000000001' })), '404 NoSuchVersion')
  t.equal(await text('condition', { VersionId: 'null' }), 'x')
  t.equal(await outcome(put('k'.repeat(1025), 'x')), '400 KeyTooLongError')
  t.equal(await outcome(put('k'.repeat(1024), 'x')), 'ok')
})

t.test('conditions of writes hold in the commit', async t => {
  t.equal(await outcome(put('write', '1', { IfMatch: '"x"' })), '404 NoSuchKey')
  t.equal(await outcome(put('write', '1', { IfNoneMatch: '*' })), 'ok')
  t.equal(await outcome(put('write', '2', { IfNoneMatch: '*' })), '412 PreconditionFailed')
  t.equal(await outcome(put('write', '2', { IfMatch: etagOf('x') })), '412 PreconditionFailed')
  t.equal(await outcome(put('write', '2', { IfMatch: etagOf('1') })), 'ok')
  t.equal(await outcome(put('write', '3', { IfNoneMatch: etagOf('1') })), '501 NotImplemented')
  t.equal(await text('write'), '2')
  const racers = await Promise.all(
    Array.from({ length: 8 }, (_, i) => outcome(put('race', String(i), { IfNoneMatch: '*' }))),
  )
  t.equal(racers.filter(result => result === 'ok').length, 1)
  t.equal(racers.filter(result => result === '412 PreconditionFailed').length, 7)
})

t.test('deletes are idempotent and may be conditional', async t => {
  const remove = (Key: string, extra = {}) => outcome(client.send(new DeleteObjectCommand({ Bucket, Key, ...extra })))
  await put('delete', 'x')
  t.equal(await remove('delete', { IfMatch: '"other"' }), '412 PreconditionFailed')
  t.equal(await remove('delete', { IfMatchSize: 2 }), '412 PreconditionFailed')
  t.equal(await remove('delete', { IfMatchLastModifiedTime: new Date(0) }), '412 PreconditionFailed')
  t.equal(await text('delete'), 'x')
  t.equal(await remove('delete', { IfMatch: etagOf('x'), IfMatchSize: 1 }), 'ok')
  t.equal(await remove('delete'), 'ok')
  t.equal(await remove('delete', { IfMatch: etagOf('x') }), 'ok', 'a missing object is deleted already')
  t.equal(await outcome(get('delete')), '404 NoSuchKey')
})

t.test('many deletes at once, each with its own outcome', async t => {
  const keys = ['m1', 'm 2', 'm<&>"3', 'm\u0001\n4', 'mü😀5']
  for (const key of keys) await put(key, 'x')
  const result = await client.send(
    new DeleteObjectsCommand({
      Bucket,
      Delete: {
        Objects: [
          ...keys.slice(0, 4).map(Key => ({ Key })),
          { Key: 'never-there' },
          { Key: keys[4]!, ETag: '"other"' },
          { Key: 'k'.repeat(1025) },
        ],
      },
    }),
  )
  t.same(
    result.Deleted!.map(({ Key }) => Key),
    [...keys.slice(0, 4), 'never-there'],
  )
  t.match(result.Errors, [
    { Key: keys[4], Code: 'PreconditionFailed', Message: String },
    { Key: /^k+$/, Code: 'KeyTooLongError' },
  ])
  for (const key of keys.slice(0, 4)) t.equal(await outcome(get(key)), '404 NoSuchKey', JSON.stringify(key))
  const quiet = await client.send(
    new DeleteObjectsCommand({ Bucket, Delete: { Quiet: true, Objects: [{ Key: keys[4]! }, { Key: 'a', Size: 3 }] } }),
  )
  t.equal(quiet.Deleted, undefined)
  t.equal(await outcome(get(keys[4]!)), '404 NoSuchKey')

  const deleteXml = async (text: string) => {
    const body = `<Delete>${text}<Object><Key>a</Key></Object></Delete>`
    const headers = { 'content-md5': createHash('md5').update(body).digest('base64') }
    const answer = await server.signed({ method: 'POST', path: `/${Bucket}`, query: 'delete=', body, headers })
    return { status: answer.status, text: await answer.text() }
  }
  t.match(await deleteXml('<Quiet>maybe</Quiet>'), { status: 400, text: /MalformedXML/ })
  t.match(await deleteXml('<Quiet/>'), { status: 400, text: /MalformedXML/ })
  t.match(await deleteXml('<Quiet> false </Quiet>'), { status: 200, text: /<Deleted>/ })
  t.notMatch(await deleteXml('<Quiet>TRUE</Quiet>'), { text: /<Deleted>/ })

  const many = Array.from({ length: 1001 }, (_, i) => ({ Key: `many-${i}` }))
  const remove = (Objects: { Key: string }[], bucket = Bucket) =>
    outcome(client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects } })))
  t.equal(await remove(many), '400 MalformedXML')
  t.equal(await remove(many.slice(1)), 'ok')
  t.equal(await remove([]), '400 MalformedXML')
  t.equal(await remove([{ Key: '' }]), '400 MalformedXML')
  t.equal(await remove([{ Key: 'a' }], 'no-such-bucket'), '404 NoSuchBucket')
})

t.test('copies keep or replace metadata and tags according to the directives', async t => {
  const copy = (extra: Partial<CopyObjectCommandInput>) =>
    client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/source`, ...extra }))
  await put('source', 'copied', { ContentType: 'text/a', Metadata: { a: '1' }, WebsiteRedirectLocation: '/x' })
  const result = await copy({})
  t.equal(result.CopyObjectResult!.ETag, etagOf('copied'))
  t.ok(result.CopyObjectResult!.LastModified)
  t.match(await head('copy'), { ContentType: 'text/a', Metadata: { a: '1' }, WebsiteRedirectLocation: undefined })
  t.equal(await text('copy'), 'copied')
  await copy({ MetadataDirective: 'REPLACE', ContentType: 'text/b', Metadata: { b: '2' } })
  const replaced = await head('copy')
  t.match(replaced, { ContentType: 'text/b' })
  t.same(replaced.Metadata, { b: '2' })

  const large = Buffer.alloc(2_000_000, 'large')
  await put('source-large', large)
  await copy({ CopySource: `${Bucket}/source-large`, ChecksumAlgorithm: 'SHA256' })
  t.match(await get('copy', { ChecksumMode: 'ENABLED' }), {
    ChecksumSHA256: createHash('sha256').update(large).digest('base64'),
  })
  t.ok(large.equals((await get('copy')).bytes))

  await put('odd +ü/key', 'odd')
  for (const CopySource of [
    `/${Bucket}/odd%20%2B%C3%BC/key`,
    `${Bucket}/odd%20%2B%C3%BC%2Fkey`,
    encodeURIComponent(`${Bucket}/odd +ü/key`),
    `${Bucket}/odd%20%2B%C3%BC/key?versionId=null`,
  ]) {
    t.equal(await outcome(copy({ CopySource, Key: 'odd-copy' })), 'ok', CopySource)
  }
  t.equal(await text('odd-copy'), 'odd')

  const self = { Key: 'source', CopySource: `${Bucket}/source` }
  t.equal(await outcome(copy(self)), '400 InvalidRequest')
  t.equal(await outcome(copy({ ...self, MetadataDirective: 'REPLACE', Metadata: { c: '3' } })), 'ok')
  t.same((await head('source')).Metadata, { c: '3' })
  t.equal(await text('source'), 'copied')

  t.equal(await outcome(copy({ CopySource: `${Bucket}/nothing` })), '404 NoSuchKey')
  t.equal(await outcome(copy({ CopySource: 'no-such-bucket/a' })), '404 NoSuchBucket')
  t.equal(await outcome(copy({ CopySource: `${Bucket}/source?versionId=abc` })), '400 InvalidArgument')
  t.equal(await outcome(copy({ CopySource: `${Bucket}/source?versionId=00000000000001` })), '404 NoSuchVersion')
  t.equal(await outcome(copy({ Bucket: 'no-such-bucket' })), '404 NoSuchBucket')
  for (const CopySource of ['nothing', '/', `${Bucket}/`, `${Bucket}/source?versionId=`]) {
    t.equal(await outcome(copy({ CopySource })), '400 InvalidArgument', CopySource)
  }
  t.equal(await outcome(copy({ MetadataDirective: 'OTHER' as 'COPY' })), '400 InvalidArgument')
  t.equal(await outcome(copy({ ChecksumAlgorithm: 'NONE' as 'CRC32' })), '400 InvalidRequest')
  t.equal(await outcome(copy({ CopySourceIfMatch: '"x"' })), '412 PreconditionFailed')
  t.equal(await outcome(copy({ CopySourceIfNoneMatch: etagOf('copied') })), '412 PreconditionFailed')
  t.equal(await outcome(copy({ CopySourceIfModifiedSince: new Date() })), '412 PreconditionFailed')
  t.equal(await outcome(copy({ CopySourceIfUnmodifiedSince: new Date(0) })), '412 PreconditionFailed')
  t.equal(await outcome(copy({ CopySourceIfMatch: etagOf('copied') })), 'ok')
  t.equal(await outcome(copy({ ExpectedSourceBucketOwner: '123' })), '403 AccessDenied')
  t.equal(
    await outcome(copy({ Key: 'race', IfNoneMatch: '*' } as Partial<CopyObjectCommandInput>)),
    '412 PreconditionFailed',
  )
})

t.test('attributes of an object, including its parts', async t => {
  const ask = (Key: string, ObjectAttributes: string[], extra = {}) =>
    client.send(
      new GetObjectAttributesCommand({ Bucket, Key, ObjectAttributes: ObjectAttributes as ['ETag'], ...extra }),
    )
  const all = ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize']
  t.match(await ask('range', all), {
    ETag: etagOf('0123456789').slice(1, -1),
    ObjectSize: 10,
    StorageClass: 'STANDARD',
    Checksum: { ChecksumCRC32: String, ChecksumType: 'FULL_OBJECT' },
    ObjectParts: undefined,
  })
  const only = await ask('range', ['ObjectSize'])
  t.match(only, { ObjectSize: 10, ETag: undefined, StorageClass: undefined })
  t.equal(await outcome(ask('range', ['Nonsense'])), '400 InvalidArgument')
  t.equal(await outcome(ask('nothing', all)), '404 NoSuchKey')

  const Key = 'attributes-parts'
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ChecksumAlgorithm: 'SHA256' }))
  const Parts = []
  for (let PartNumber = 1; PartNumber <= 3; PartNumber++) {
    const Body = Buffer.alloc(5 * 1024 ** 2, PartNumber)
    const part = await client.send(
      new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ChecksumAlgorithm: 'SHA256' }),
    )
    Parts.push({ PartNumber, ETag: part.ETag, ChecksumSHA256: part.ChecksumSHA256 })
  }
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
  t.match(await ask(Key, all, { MaxParts: 2 }), {
    ETag: /^[0-9a-f]{32}-3$/,
    Checksum: {
      ChecksumSHA256: createHash('sha256')
        .update(Buffer.concat(Parts.map(part => Buffer.from(part.ChecksumSHA256!, 'base64'))))
        .digest('base64'),
      ChecksumType: 'COMPOSITE',
    },
    ObjectParts: {
      TotalPartsCount: 3,
      IsTruncated: true,
      NextPartNumberMarker: '2',
      Parts: [{ PartNumber: 1, Size: 5242880, ChecksumSHA256: Parts[0]!.ChecksumSHA256 }, { PartNumber: 2 }],
    },
  })
  t.match(await ask(Key, all, { PartNumberMarker: '2' }), {
    ObjectParts: { IsTruncated: false, Parts: [{ PartNumber: 3 }] },
  })
})

t.test('objects with hostile keys are stored separately', async t => {
  const keys = [
    'a',
    'a/',
    'a//',
    '/a',
    '../a',
    './a',
    'a/../b',
    'a%2Fb',
    'a+b',
    'a b',
    'a?b',
    'a#b',
    '%',
    '\u0001',
    'ü',
    '😀',
    '\\',
  ]
  for (const key of keys) await put(key, `body of ${key}`)
  for (const key of keys) t.equal(await text(key), `body of ${key}`, JSON.stringify(key))
  await put('u\u0308', 'normalized')
  t.equal(await text('ü'), 'normalized', 'NFC joins the two forms of one character')
})
