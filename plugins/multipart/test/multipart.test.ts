import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  type CreateMultipartUploadCommandInput,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  type UploadPartCommandInput,
  UploadPartCopyCommand,
  type UploadPartCopyCommandInput,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client, forger, anonymous } = server
const Bucket = 'multipart-bucket'
await client.send(new CreateBucketCommand({ Bucket }))
const MiB = 1024 ** 2

const create = async (Key: string, extra: Partial<CreateMultipartUploadCommandInput> = {}) =>
  (await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...extra }))).UploadId!
const upload = (
  Key: string,
  UploadId: string,
  PartNumber: number,
  Body: string | Buffer,
  extra: Partial<UploadPartCommandInput> = {},
) => client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ...extra }))
const complete = (
  Key: string,
  UploadId: string,
  Parts: CompletedPart[],
  extra: Partial<CompleteMultipartUploadCommandInput> = {},
) => client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...extra }))
const parts = (Key: string, UploadId: string, extra = {}) =>
  client.send(new ListPartsCommand({ Bucket, Key, UploadId, ...extra }))
const bytes = async (Key: string, extra = {}) => {
  const { Body, ...answer } = await client.send(new GetObjectCommand({ Bucket, Key, ...extra }))
  return { ...answer, bytes: Buffer.from(await Body!.transformToByteArray()) }
}
const md5 = (body: Buffer | string) => createHash('md5').update(body).digest()
const big = (fill: string) => Buffer.alloc(5 * MiB, fill)
const multipartEtag = (...bodies: (Buffer | string)[]) =>
  `"${md5(Buffer.concat(bodies.map(md5))).toString('hex')}-${bodies.length}"`

t.test('every operation refuses anonymous requests and wrong secrets', async t => {
  const id = await create('secret')
  for (const [method, target] of [
    ['POST', '/secret?uploads'],
    ['PUT', `/secret?partNumber=1&uploadId=${id}`],
    ['GET', `/secret?uploadId=${id}`],
    ['POST', `/secret?uploadId=${id}`],
    ['DELETE', `/secret?uploadId=${id}`],
    ['GET', '?uploads'],
  ] as const) {
    t.equal((await anonymous(method, `/${Bucket}${target}`)).status, 403, `${method} ${target}`)
  }
  const common = { Bucket, Key: 'secret', UploadId: id }
  for (const command of [
    new CreateMultipartUploadCommand(common),
    new UploadPartCommand({ ...common, PartNumber: 1, Body: 'x' }),
    new UploadPartCopyCommand({ ...common, PartNumber: 1, CopySource: `${Bucket}/a` }),
    new CompleteMultipartUploadCommand({ ...common, MultipartUpload: { Parts: [{ PartNumber: 1, ETag: 'x' }] } }),
    new AbortMultipartUploadCommand(common),
    new ListPartsCommand(common),
    new ListMultipartUploadsCommand({ Bucket }),
  ]) {
    t.equal(
      await outcome(forger.send(command as ListPartsCommand)),
      '403 SignatureDoesNotMatch',
      command.constructor.name,
    )
  }
  t.equal((await parts('secret', id)).Parts, undefined)
  t.equal(await outcome(client.send(new AbortMultipartUploadCommand(common))), 'ok')
})

t.test('parts become an object, in any order of upload', async t => {
  const Key = 'assembled/ü'
  const id = await create(Key, { ContentType: 'text/x', Metadata: { a: '1' }, StorageClass: 'REDUCED_REDUNDANCY' })
  const bodies = [big('a'), big('b'), Buffer.from('the end')]
  const etags = new Map<number, string>()
  for (const number of [3, 1, 2]) {
    const part = await upload(Key, id, number, bodies[number - 1]!)
    t.equal(part.ETag, `"${md5(bodies[number - 1]!).toString('hex')}"`)
    etags.set(number, part.ETag!)
  }
  t.equal(await outcome(bytes(Key)), '404 NoSuchKey', 'nothing is visible before the end')
  const list = [1, 2, 3].map(PartNumber => ({ PartNumber, ETag: etags.get(PartNumber)! }))
  const completed = await complete(Key, id, list)
  t.match(completed, { Bucket, Key, ETag: multipartEtag(...bodies), ChecksumType: 'FULL_OBJECT' })
  t.match(completed.Location, /^http:\/\/127\.0\.0\.1:\d+\/multipart-bucket\/assembled\/%C3%BC$/)
  const got = await bytes(Key, { ChecksumMode: 'ENABLED' })
  t.ok(Buffer.concat(bodies).equals(got.bytes))
  t.match(got, { ContentType: 'text/x', Metadata: { a: '1' }, StorageClass: 'REDUCED_REDUNDANCY' })
  t.equal(got.ChecksumCRC64NVME, completed.ChecksumCRC64NVME)

  const second = await bytes(Key, { PartNumber: 2 })
  t.ok(bodies[1]!.equals(second.bytes))
  t.match(second, { PartsCount: 3, ContentRange: `bytes ${5 * MiB}-${10 * MiB - 1}/${10 * MiB + 7}` })
  t.match(await client.send(new HeadObjectCommand({ Bucket, Key, PartNumber: 3 })), { PartsCount: 3, ContentLength: 7 })
  t.equal(await outcome(bytes(Key, { PartNumber: 4 })), '416 InvalidPartNumber')
  const across = await bytes(Key, { Range: `bytes=${5 * MiB - 2}-${5 * MiB + 1}` })
  t.equal(across.bytes.toString(), 'aabb')

  t.match(await complete(Key, id, list), { ETag: completed.ETag }, 'a repeated completion gets the same answer')
  t.equal(await outcome(complete(Key, id, list.slice(1))), '404 NoSuchUpload')
  t.equal(await outcome(parts(Key, id)), '404 NoSuchUpload')
})

t.test('invalid completions are refused by name and change nothing', async t => {
  const Key = 'refused'
  const id = await create(Key)
  const first = await upload(Key, id, 1, big('a'))
  const small = await upload(Key, id, 2, 'small')
  const last = await upload(Key, id, 3, 'last')
  const listed = (...found: [number, string | undefined][]) => found.map(([PartNumber, ETag]) => ({ PartNumber, ETag }))
  const good = listed([1, first.ETag], [3, last.ETag])
  t.equal(await outcome(complete(Key, id, [])), '400 MalformedXML')
  t.equal(await outcome(complete(Key, id, [{ PartNumber: 1 }])), '400 MalformedXML')
  t.equal(await outcome(complete(Key, id, good.toReversed())), '400 InvalidPartOrder')
  t.equal(await outcome(complete(Key, id, [...good, good[1]!])), '400 InvalidPartOrder')
  t.equal(await outcome(complete(Key, id, listed([1, last.ETag], [3, last.ETag]))), '400 InvalidPart')
  t.equal(await outcome(complete(Key, id, listed([1, first.ETag], [4, last.ETag]))), '400 InvalidPart')
  t.equal(
    await outcome(complete(Key, id, listed([1, first.ETag], [2, small.ETag], [3, last.ETag]))),
    '400 EntityTooSmall',
  )
  t.equal(await outcome(complete(Key, id, good, { MpuObjectSize: 1 })), '400 InvalidRequest')
  t.equal(await outcome(complete(Key, id, good, { ChecksumType: 'COMPOSITE' })), '400 InvalidRequest')
  t.equal(await outcome(complete(Key, id, good, { ChecksumCRC64NVME: 'AAAAAAAAAAA=' })), '400 BadDigest')
  t.equal(await outcome(complete(Key, id, good, { IfMatch: '"x"' })), '404 NoSuchKey')
  t.equal(await outcome(complete(Key, 'x'.repeat(32), good)), '404 NoSuchUpload')
  t.equal(await outcome(complete('other', id, good)), '404 NoSuchUpload')
  t.equal((await parts(Key, id)).Parts!.length, 3)
  const completed = await complete(Key, id, listed([1, first.ETag!.replaceAll('"', '')], [3, last.ETag]), {
    MpuObjectSize: 5 * MiB + 4,
    IfNoneMatch: '*',
  })
  t.equal(completed.ETag, multipartEtag(big('a'), 'last'))
  const again = await create(Key)
  const part = await upload(Key, again, 1, 'x')
  t.equal(await outcome(complete(Key, again, listed([1, part.ETag]), { IfNoneMatch: '*' })), '412 PreconditionFailed')
  t.equal(await outcome(complete(Key, again, listed([1, part.ETag]), { IfMatch: completed.ETag })), 'ok')
})

t.test('a part that is sent again replaces the first', async t => {
  const id = await create('replaced')
  const old = await upload('replaced', id, 1, 'old')
  const part = await upload('replaced', id, 1, 'new')
  t.equal(await outcome(complete('replaced', id, [{ PartNumber: 1, ETag: old.ETag }])), '400 InvalidPart')
  await complete('replaced', id, [{ PartNumber: 1, ETag: part.ETag }])
  t.equal((await bytes('replaced')).bytes.toString(), 'new')
})

t.test('numbers and ids of parts are checked', async t => {
  const id = await create('numbers')
  for (const number of [0, -1, 10_001])
    t.equal(await outcome(upload('numbers', id, number, 'x')), '400 InvalidArgument')
  t.equal(await outcome(upload('numbers', id, 10_000, 'x')), 'ok')
  t.equal(await outcome(upload('numbers', 'x'.repeat(32), 1, 'x')), '404 NoSuchUpload')
  t.equal(await outcome(upload('numbers', '../..', 1, 'x')), '404 NoSuchUpload')
  t.equal(
    await outcome(
      client.send(
        new UploadPartCommand({ Bucket: 'no-such-bucket', Key: 'a', UploadId: id, PartNumber: 1, Body: 'x' }),
      ),
    ),
    '404 NoSuchBucket',
  )
  t.equal(await outcome(create('bad', { StorageClass: 'GLACIER' })), '400 InvalidStorageClass')
  t.equal(
    await outcome(client.send(new CreateMultipartUploadCommand({ Bucket: 'no-such-bucket', Key: 'a' }))),
    '404 NoSuchBucket',
  )
})

t.test('uploads are aborted with all their parts', async t => {
  const id = await create('aborted')
  await upload('aborted', id, 1, big('x'))
  const abort = () => outcome(client.send(new AbortMultipartUploadCommand({ Bucket, Key: 'aborted', UploadId: id })))
  t.equal(await abort(), 'ok')
  t.equal(await abort(), '404 NoSuchUpload')
  t.equal(await outcome(parts('aborted', id)), '404 NoSuchUpload')
  t.equal(await outcome(upload('aborted', id, 2, 'x')), '404 NoSuchUpload')
  t.equal(await outcome(bytes('aborted')), '404 NoSuchKey')
})

t.test('the checksums that an upload may have, and those that its parts need', async t => {
  const wanted = (ChecksumAlgorithm?: string, ChecksumType?: string) =>
    client.send(
      new CreateMultipartUploadCommand({
        Bucket,
        Key: 'checksum',
        ChecksumAlgorithm: ChecksumAlgorithm as 'CRC32',
        ChecksumType: ChecksumType as 'COMPOSITE',
      }),
    )
  for (const [algorithm, type, answer] of [
    ['CRC32', undefined, 'COMPOSITE'],
    ['CRC32', 'FULL_OBJECT', 'FULL_OBJECT'],
    ['CRC32C', 'COMPOSITE', 'COMPOSITE'],
    ['CRC64NVME', undefined, 'FULL_OBJECT'],
    ['SHA1', undefined, 'COMPOSITE'],
    ['SHA256', 'COMPOSITE', 'COMPOSITE'],
  ] as const) {
    t.match(
      await wanted(algorithm, type),
      { ChecksumAlgorithm: algorithm, ChecksumType: answer },
      `${algorithm} ${type}`,
    )
  }
  for (const [algorithm, type] of [
    ['CRC64NVME', 'COMPOSITE'],
    ['SHA256', 'FULL_OBJECT'],
    ['SHA1', 'FULL_OBJECT'],
    ['CRC32', 'NONSENSE'],
    ['NONSENSE', undefined],
    [undefined, 'COMPOSITE'],
  ] as const) {
    t.equal(await outcome(wanted(algorithm, type)), '400 InvalidRequest', `${algorithm} ${type}`)
  }

  const Key = 'composite'
  const id = await create(Key, { ChecksumAlgorithm: 'SHA256' })
  t.equal(await outcome(upload(Key, id, 1, 'x', { ChecksumAlgorithm: 'CRC32' })), '400 InvalidRequest')
  t.equal(
    await outcome(upload(Key, id, 1, 'x', { ChecksumSHA256: Buffer.alloc(32).toString('base64') })),
    '400 BadDigest',
  )
  const bodies = [big('a'), Buffer.from('b')]
  const list: CompletedPart[] = []
  for (const [i, body] of bodies.entries()) {
    const { ETag, ChecksumSHA256 } = await upload(Key, id, i + 1, body, { ChecksumAlgorithm: 'SHA256' })
    t.equal(ChecksumSHA256, createHash('sha256').update(body).digest('base64'))
    list.push({ PartNumber: i + 1, ETag, ChecksumSHA256 })
  }
  const digests = Buffer.concat(bodies.map(body => createHash('sha256').update(body).digest()))
  const whole = `${createHash('sha256').update(digests).digest('base64')}-2`
  const wrong = list.map(part => ({ ...part, ChecksumSHA256: list[0]!.ChecksumSHA256 }))
  t.equal(await outcome(complete(Key, id, wrong)), '400 InvalidPart')
  t.match(await complete(Key, id, list, { ChecksumSHA256: whole }), {
    ChecksumSHA256: whole,
    ChecksumType: 'COMPOSITE',
  })

  const full = 'full-object'
  const fullId = await create(full, { ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' })
  const fullParts: CompletedPart[] = []
  for (const [i, body] of bodies.entries()) {
    const { ETag, ChecksumCRC32 } = await upload(full, fullId, i + 1, body, { ChecksumAlgorithm: 'CRC32' })
    fullParts.push({ PartNumber: i + 1, ETag, ChecksumCRC32 })
  }
  const crc = Buffer.alloc(4)
  crc.writeUInt32BE(crc32(Buffer.concat(bodies)))
  t.match(await complete(full, fullId, fullParts), {
    ChecksumCRC32: crc.toString('base64'),
    ChecksumType: 'FULL_OBJECT',
  })
})

t.test('checksums of parts in answers, as on AWS', async t => {
  const Key = 'part-checksums'
  const bodies = [big('a'), Buffer.from('b')]
  const made = async (options: Partial<CreateMultipartUploadCommandInput>, count = 2) => {
    const id = await create(Key, options)
    const list: CompletedPart[] = []
    for (const [i, body] of bodies.slice(0, count).entries()) {
      const part = await upload(Key, id, i + 1, body, { ChecksumAlgorithm: options.ChecksumAlgorithm })
      const { ETag, ChecksumCRC32, ChecksumSHA256 } = part
      list.push({ PartNumber: i + 1, ETag, ChecksumCRC32, ChecksumSHA256 })
    }
    await complete(Key, id, list)
    return list
  }
  const read = (PartNumber: number) => bytes(Key, { PartNumber, ChecksumMode: 'ENABLED' })
  const composite = await made({ ChecksumAlgorithm: 'SHA256' })
  for (const { PartNumber, ChecksumSHA256 } of composite) {
    t.match(await read(PartNumber!), { ChecksumSHA256, ChecksumType: 'COMPOSITE', PartsCount: 2 })
  }
  const copied = await client.send(new CopyObjectCommand({ Bucket, Key: 'one', CopySource: `${Bucket}/${Key}` }))
  const whole = Buffer.concat(bodies)
  t.match(copied.CopyObjectResult, {
    ETag: `"${md5(whole).toString('hex')}"`,
    ChecksumSHA256: createHash('sha256').update(whole).digest('base64'),
    ChecksumType: 'FULL_OBJECT',
  })
  const one = await bytes('one', { PartNumber: 1, ChecksumMode: 'ENABLED' })
  t.ok(one.bytes.equals(whole))
  t.match(one, { ETag: copied.CopyObjectResult!.ETag, ChecksumType: 'FULL_OBJECT', PartsCount: undefined })

  await made({ ChecksumAlgorithm: 'CRC32', ChecksumType: 'full_object' as 'FULL_OBJECT' })
  t.match(await read(2), { ChecksumCRC32: undefined, ChecksumType: undefined, PartsCount: 2 })
  const [single] = await made({ ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' }, 1)
  t.match(await read(1), { ChecksumCRC32: single!.ChecksumCRC32, ChecksumType: 'FULL_OBJECT', PartsCount: 1 })

  const bare = await create(Key, { ChecksumAlgorithm: 'SHA256' })
  const plain = server.with({})
  plain.config.requestChecksumCalculation = async () => 'WHEN_REQUIRED'
  await t.rejects(plain.send(new UploadPartCommand({ Bucket, Key, UploadId: bare, PartNumber: 1, Body: 'x' })), {
    name: 'InvalidRequest',
    message: /expected checksum Type: sha256, actual checksum Type: null/,
  })

  const unasked = await plain.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  t.match(unasked, { ChecksumAlgorithm: undefined, ChecksumType: undefined })
  await plain.send(new UploadPartCommand({ Bucket, Key, UploadId: unasked.UploadId, PartNumber: 1, Body: 'x' }))
  const listed = await parts(Key, unasked.UploadId!)
  t.match(listed, { ChecksumAlgorithm: undefined, ChecksumType: undefined })
  t.match(listed.Parts, [{ PartNumber: 1, ChecksumCRC64NVME: undefined }])
  const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key }))
  t.match(
    Uploads!.find(({ UploadId }) => UploadId === unasked.UploadId),
    { ChecksumAlgorithm: undefined },
  )
})

t.test('an upload without an algorithm takes parts with any algorithm, and verifies them', async t => {
  const Key = 'any-algorithm'
  const id = await create(Key)
  const first = await upload(Key, id, 1, big('a'), { ChecksumAlgorithm: 'SHA1' })
  t.equal(first.ChecksumSHA1, createHash('sha1').update(big('a')).digest('base64'))
  const second = await upload(Key, id, 2, 'b', { ChecksumAlgorithm: 'CRC32C' })
  t.equal(await outcome(upload(Key, id, 2, 'c', { ChecksumCRC32C: second.ChecksumCRC32C })), '400 BadDigest')
  const completed = await complete(Key, id, [
    { PartNumber: 1, ETag: first.ETag, ChecksumSHA1: first.ChecksumSHA1 },
    { PartNumber: 2, ETag: second.ETag, ChecksumCRC32C: second.ChecksumCRC32C },
  ])
  t.match(completed, { ChecksumCRC64NVME: String, ChecksumType: 'FULL_OBJECT' })
  await client.send(
    new PutObjectCommand({
      Bucket,
      Key: 'same',
      Body: Buffer.concat([big('a'), Buffer.from('b')]),
      ChecksumAlgorithm: 'CRC64NVME',
      ChecksumCRC64NVME: completed.ChecksumCRC64NVME,
    }),
  )
})

t.test('parts are copied from objects, whole or in ranges', async t => {
  const source = Buffer.alloc(6 * MiB)
  for (let i = 0; i < source.length; i += 4) source.writeUInt32LE((i * 2654435761) >>> 0, i)
  await client.send(new PutObjectCommand({ Bucket, Key: 'source', Body: source }))
  const id = await create('copied')
  const copy = (PartNumber: number, extra: Partial<UploadPartCopyCommandInput> = {}) =>
    client.send(
      new UploadPartCopyCommand({
        Bucket,
        Key: 'copied',
        UploadId: id,
        PartNumber,
        CopySource: `${Bucket}/source`,
        ...extra,
      }),
    )
  const whole = await copy(1)
  t.equal(whole.CopyPartResult!.ETag, `"${md5(source).toString('hex')}"`)
  const range = await copy(2, { CopySourceRange: 'bytes=100-199' })
  t.equal(range.CopyPartResult!.ETag, `"${md5(source.subarray(100, 200)).toString('hex')}"`)
  for (const CopySourceRange of ['bytes=0-', 'bytes=5-4', `bytes=0-${source.length}`, '0-1']) {
    t.equal(await outcome(copy(3, { CopySourceRange })), '400 InvalidArgument', CopySourceRange)
  }
  t.equal(await outcome(copy(3, { CopySource: `${Bucket}/nothing` })), '404 NoSuchKey')
  t.equal(await outcome(copy(3, { UploadId: 'x'.repeat(32) })), '404 NoSuchUpload')
  t.equal(await outcome(copy(0)), '400 InvalidArgument')
  t.equal(await outcome(copy(3, { CopySourceIfMatch: '"x"' })), '412 PreconditionFailed')
  const list = [whole, range].map(({ CopyPartResult }, i) => ({ PartNumber: i + 1, ETag: CopyPartResult!.ETag }))
  await complete('copied', id, list)
  t.ok(Buffer.concat([source, source.subarray(100, 200)]).equals((await bytes('copied')).bytes))
})

t.test('parts are listed by number, a page at a time', async t => {
  const id = await create('pages', { ChecksumAlgorithm: 'CRC32' })
  for (const number of [10, 9, 2, 1, 100])
    await upload('pages', id, number, `part ${number}`, { ChecksumAlgorithm: 'CRC32' })
  const all = await parts('pages', id)
  t.same(
    all.Parts!.map(({ PartNumber }) => PartNumber),
    [1, 2, 9, 10, 100],
  )
  t.match(all, {
    Bucket,
    Key: 'pages',
    UploadId: id,
    IsTruncated: false,
    StorageClass: 'STANDARD',
    ChecksumAlgorithm: 'CRC32',
    ChecksumType: 'COMPOSITE',
  })
  t.match(all.Parts![0], {
    Size: 6,
    ETag: `"${md5('part 1').toString('hex')}"`,
    ChecksumCRC32: String,
    LastModified: Date,
  })
  t.match(all.Owner, { DisplayName: 'admin' })
  const page = await parts('pages', id, { MaxParts: 2 })
  t.match(page, { IsTruncated: true, NextPartNumberMarker: '2', MaxParts: 2 })
  const next = await parts('pages', id, { PartNumberMarker: page.NextPartNumberMarker, MaxParts: 3 })
  t.same(
    next.Parts!.map(({ PartNumber }) => PartNumber),
    [9, 10, 100],
  )
  t.equal(next.IsTruncated, false)
  t.match(await parts('pages', id, { MaxParts: 0 }), { IsTruncated: false, Parts: undefined })
  t.equal(await outcome(parts('pages', id, { MaxParts: -1 })), '400 InvalidArgument')
  t.equal(await outcome(parts('pages', id, { PartNumberMarker: 'x' })), '400 InvalidArgument')
})

t.test('uploads are listed by key and then by start time', async t => {
  const bucket = 'uploads-bucket'
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  const ids: string[] = []
  for (const Key of ['b', 'a/1', 'a/2', 'b', 'ü']) {
    ids.push((await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }))).UploadId!)
  }
  const list = (extra = {}) => client.send(new ListMultipartUploadsCommand({ Bucket: bucket, ...extra }))
  const all = await list()
  t.same(
    all.Uploads!.map(({ Key, UploadId }) => [Key, UploadId]),
    [
      ['a/1', ids[1]],
      ['a/2', ids[2]],
      ['b', ids[0]],
      ['b', ids[3]],
      ['ü', ids[4]],
    ],
  )
  t.match(all, { IsTruncated: false, MaxUploads: 1000, Prefix: '', KeyMarker: '' })
  t.match(all.Uploads![0], { StorageClass: 'STANDARD', Initiated: Date, Owner: { DisplayName: 'admin' } })
  const rolled = await list({ Delimiter: '/' })
  t.same(rolled.CommonPrefixes, [{ Prefix: 'a/' }])
  t.equal(rolled.Uploads!.length, 3)
  t.same(
    (await list({ Prefix: 'a/', EncodingType: 'url' })).Uploads!.map(({ Key }) => Key),
    ['a/1', 'a/2'],
  )
  const seen: unknown[] = []
  let markers = {}
  for (let pages = 0; pages < 10; pages++) {
    const page = await list({ MaxUploads: 2, ...markers })
    seen.push(...page.Uploads!.map(({ UploadId }) => UploadId))
    if (!page.IsTruncated) break
    markers = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
  }
  t.same(seen, [ids[1], ids[2], ids[0], ids[3], ids[4]])
  t.equal((await list({ UploadIdMarker: ids[3] })).Uploads!.length, 5, 'an id without a key says nothing')
  t.equal(await outcome(list({ MaxUploads: -1 })), '400 InvalidArgument')
  t.equal(await outcome(client.send(new ListMultipartUploadsCommand({ Bucket: 'no-such-bucket' }))), '404 NoSuchBucket')
})

t.test('of two concurrent completions one succeeds, and the object is whole', async t => {
  const Key = 'contended'
  const id = await create(Key)
  const part = await upload(Key, id, 1, big('z'))
  const list = [{ PartNumber: 1, ETag: part.ETag }]
  const results = await Promise.all(Array.from({ length: 4 }, () => outcome(complete(Key, id, list))))
  t.ok(results.includes('ok'))
  for (const result of results) t.match(result, /^(ok|404 NoSuchUpload|400 InvalidPart)$/)
  t.ok(big('z').equals((await bytes(Key)).bytes))
})

t.test("the SDK's own upload of a stream succeeds", async t => {
  const body = Buffer.alloc(17 * MiB, 'stream')
  const done = await new Upload({
    client,
    params: { Bucket, Key: 'managed', Body: body },
    partSize: 5 * MiB,
    queueSize: 3,
  }).done()
  t.match(done.ETag, /-4"$/)
  t.ok(body.equals((await bytes('managed')).bytes))
})

t.test('metadata and tags with any key are kept until the upload is completed', async t => {
  const Key = 'keys'
  const Metadata = JSON.parse('{ "__proto__": "a", "constructor": "b" }') as Record<string, string>
  const Tagging = '__proto__=c&constructor=d'
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, Metadata, Tagging }))
  const { ETag } = await client.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: 'part' }))
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
  await client.send(new PutObjectCommand({ Bucket, Key: 'keys-at-once', Body: 'x', Metadata, Tagging }))
  for (const name of [Key, 'keys-at-once']) {
    const answer = await server.signed({ method: 'HEAD', path: `/${Bucket}/${name}` })
    t.equal(answer.headers.get('x-amz-meta-__proto__'), 'a', name)
    t.equal(answer.headers.get('x-amz-meta-constructor'), 'b')
    const tags = await (await server.signed({ method: 'GET', path: `/${Bucket}/${name}`, query: 'tagging=' })).text()
    t.match(tags, '<Tag><Key>__proto__</Key><Value>c</Value></Tag><Tag><Key>constructor</Key><Value>d</Value></Tag>')
  }
})
