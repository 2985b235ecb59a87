import assert from 'node:assert/strict'
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetBucketLocationCommand,
  HeadBucketCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import fc from 'fast-check'
import type { S3Request } from 'svc/plugins/s3/api'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'
import { readToken, writeToken } from '../listing.ts'
import listBuckets from '../s3/list-buckets.ts'

const server = await startServer()
t.teardown(() => server.stop())
const { client, forger, anonymous } = server
const create = (Bucket: string, extra = {}) => outcome(client.send(new CreateBucketCommand({ Bucket, ...extra })))

t.test('every operation refuses strangers and wrong secrets', async t => {
  for (const [method, target] of [
    ['GET', '/'],
    ['PUT', '/some-bucket'],
    ['HEAD', '/some-bucket'],
    ['DELETE', '/some-bucket'],
    ['GET', '/some-bucket?location'],
    ['GET', '/some-bucket'],
    ['GET', '/some-bucket?list-type=2'],
  ] as const) {
    // There is no such bucket, which reads tell to everybody.
    const status = target !== '/' && method !== 'PUT' && method !== 'DELETE' ? 404 : 403
    t.equal((await anonymous(method, target)).status, status, `${method} ${target}`)
  }
  const Bucket = 'some-bucket'
  for (const command of [
    new ListBucketsCommand({}),
    new CreateBucketCommand({ Bucket }),
    new DeleteBucketCommand({ Bucket }),
    new GetBucketLocationCommand({ Bucket }),
    new ListObjectsCommand({ Bucket }),
    new ListObjectsV2Command({ Bucket }),
  ]) {
    t.equal(
      await outcome(forger.send(command as ListBucketsCommand)),
      '403 SignatureDoesNotMatch',
      command.constructor.name,
    )
  }
  t.equal(await outcome(forger.send(new HeadBucketCommand({ Bucket }))), '403 Unknown')
})

t.test('buckets are created, found, listed and deleted', async t => {
  const made = await client.send(new CreateBucketCommand({ Bucket: 'first-bucket' }))
  t.equal(made.Location, '/first-bucket')
  t.equal(await create('first-bucket'), 'ok', 'as at AWS in us-east-1')
  t.equal(await create('second.bucket'), 'ok')
  const { Buckets, Owner } = await client.send(new ListBucketsCommand({}))
  t.match(Buckets, [
    { Name: 'first-bucket', BucketRegion: 'us-east-1' },
    { Name: 'second.bucket', BucketRegion: 'us-east-1' },
  ])
  t.ok(Math.abs(Buckets![0]!.CreationDate!.getTime() - Date.now()) < 60_000)
  t.match(Owner, { ID: /^[0-9a-f]{64}$/, DisplayName: 'admin' })
  t.match(await client.send(new HeadBucketCommand({ Bucket: 'first-bucket' })), { BucketRegion: 'us-east-1' })
  t.equal(await outcome(client.send(new HeadBucketCommand({ Bucket: 'third-bucket' }))), '404 NotFound')
  t.equal((await client.send(new GetBucketLocationCommand({ Bucket: 'first-bucket' }))).LocationConstraint, undefined)
  t.equal(await outcome(client.send(new GetBucketLocationCommand({ Bucket: 'third-bucket' }))), '404 NoSuchBucket')

  const page = await client.send(new ListBucketsCommand({ MaxBuckets: 1 }))
  t.same(
    page.Buckets!.map(({ Name }) => Name),
    ['first-bucket'],
  )
  const rest = await client.send(new ListBucketsCommand({ MaxBuckets: 1, ContinuationToken: page.ContinuationToken }))
  t.same(
    rest.Buckets!.map(({ Name }) => Name),
    ['second.bucket'],
  )
  t.equal(rest.ContinuationToken, undefined)
  t.same(
    (await client.send(new ListBucketsCommand({ Prefix: 'sec' }))).Buckets!.map(({ Name }) => Name),
    ['second.bucket'],
  )
  t.same((await client.send(new ListBucketsCommand({ BucketRegion: 'eu-west-1' }))).Buckets, [])
  for (const MaxBuckets of [0, -1, 10_001]) {
    t.equal(await outcome(client.send(new ListBucketsCommand({ MaxBuckets }))), '400 InvalidArgument')
  }
  t.equal(await outcome(client.send(new ListBucketsCommand({ ContinuationToken: '!' }))), '400 InvalidArgument')

  const Bucket = 'first-bucket'
  const remove = () => outcome(client.send(new DeleteBucketCommand({ Bucket })))
  await client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: 'x' }))
  t.equal(await remove(), '409 BucketNotEmpty')
  await client.send(new DeleteObjectCommand({ Bucket, Key: 'a' }))
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'a' }))
  await client.send(new UploadPartCommand({ Bucket, Key: 'a', UploadId, PartNumber: 1, Body: 'x' }))
  await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'b' }))
  t.equal(await remove(), 'ok', 'uploads in progress end with their bucket')
  t.equal(await remove(), '404 NoSuchBucket')
  t.equal(await create(Bucket), 'ok')
  t.equal(await outcome(client.send(new ListPartsCommand({ Bucket, Key: 'a', UploadId }))), '404 NoSuchUpload')
  t.same((await client.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined)
  t.equal(await remove(), 'ok')
})

t.test('CreateBucket again succeeds only where all that it asks for is so', async t => {
  const Bucket = 'asked-again'
  const again = (more: object = {}) => outcome(client.send(new CreateBucketCommand({ Bucket, ...more })))
  const tags = (...Tags: readonly { Key: string; Value: string }[]) => ({ CreateBucketConfiguration: { Tags } })
  const [a, b] = [
    { Key: 'a', Value: '1' },
    { Key: 'b', Value: '2' },
  ]
  t.equal(await again(tags(a, b)), 'ok')
  for (const same of [{}, tags(a, b), tags(b, a), { ObjectOwnership: 'BucketOwnerEnforced' }]) {
    t.equal(await again(same), 'ok', JSON.stringify(same))
  }
  const others = [
    tags(a),
    { ObjectLockEnabledForBucket: true },
    { ObjectOwnership: 'ObjectWriter' },
    { ObjectOwnership: 'ObjectWriter', ACL: 'public-read' },
  ]
  for (const other of others) t.equal(await again(other), '409 BucketAlreadyOwnedByYou', JSON.stringify(other))
  await client.send(new DeleteBucketCommand({ Bucket }))
})

t.test('in another region than us-east-1 a bucket cannot be created again', async t => {
  const other = await startServer({ config: { 'auth-sigv4': { region: 'eu-west-1' } } })
  t.teardown(() => other.stop())
  const credentials = { accessKeyId: 'admin', secretAccessKey: 'change-me-please' }
  const there = new S3Client({ endpoint: other.endpoint, region: 'eu-west-1', forcePathStyle: true, credentials })
  t.teardown(() => there.destroy())
  await there.send(new CreateBucketCommand({ Bucket: 'first-bucket' }))
  t.equal(await outcome(there.send(new CreateBucketCommand({ Bucket: 'first-bucket' }))), '409 BucketAlreadyOwnedByYou')
})

t.test('CreateBucket executes or refuses every parameter', async t => {
  const Constraint = (LocationConstraint: string) => ({ CreateBucketConfiguration: { LocationConstraint } })
  t.equal(await create('in-the-region', Constraint('us-east-1')), 'ok')
  t.equal(await create('elsewhere', Constraint('eu-west-1')), '400 InvalidLocationConstraint')
  t.equal(await create('not-locked', { ObjectLockEnabledForBucket: false }), 'ok')
  t.equal(await create('owned', { ObjectOwnership: 'BucketOwnerEnforced' }), 'ok')
  t.equal(await create('writers', { ObjectOwnership: 'ObjectWriter', ACL: 'public-read' }), 'ok')
  t.equal(await create('shared', { ObjectOwnership: 'Nobody' }), '400 InvalidArgument')
  t.equal(await create('private', { ACL: 'private' }), 'ok')
  t.equal(await create('public', { ACL: 'public-read' }), '400 InvalidBucketAclWithObjectOwnership')
  t.equal(await create('odd-acl', { ACL: 'whatever' }), '400 InvalidArgument')
  for (const Bucket of ['elsewhere', 'shared', 'public']) {
    t.equal(await outcome(client.send(new HeadBucketCommand({ Bucket }))), '404 NotFound', Bucket)
  }
})

t.test('names that no bucket may have', async t => {
  for (const name of [
    'ab',
    'a'.repeat(64),
    'Upper',
    'under_score',
    '-start',
    'end-',
    '.start',
    'end.',
    'a..b',
    'a.-b',
    'a-.b',
    '192.168.5.4',
    'xn--bucket',
    'my-s3alias',
    'my--ol-s3',
    'sthree-x',
    'amzn-s3-demo-x',
    'x.mrap',
  ]) {
    t.equal(await create(name), '400 InvalidBucketName', name)
  }
  for (const name of ['abc', 'a'.repeat(63), '1.2.3', '1-2', 'a.b-c.d']) t.equal(await create(name), 'ok', name)
})

const Bucket = 'listed-bucket'

t.test('a listing echoes its parameters and counts prefixes', async t => {
  await client.send(new CreateBucketCommand({ Bucket }))
  for (const Key of ['a', 'b/1', 'b/2', 'c d+ü', 'd/x/1', 'd/y']) {
    await client.send(new PutObjectCommand({ Bucket, Key, Body: Key }))
  }
  const list = (input: Partial<ListObjectsV2CommandInput> = {}) =>
    client.send(new ListObjectsV2Command({ Bucket, ...input }))
  const all = await list()
  t.same(
    all.Contents!.map(({ Key }) => Key),
    ['a', 'b/1', 'b/2', 'c d+ü', 'd/x/1', 'd/y'],
  )
  t.match(all.Contents![0], {
    Size: 1,
    ETag: '"0cc175b9c0f1b6a831c399e269772661"',
    StorageClass: 'STANDARD',
    ChecksumAlgorithm: ['CRC32'],
    ChecksumType: 'FULL_OBJECT',
    Owner: undefined,
  })
  t.match(all, { KeyCount: 6, MaxKeys: 1000, IsTruncated: false, Name: Bucket, Prefix: '', Delimiter: undefined })
  t.match((await list({ FetchOwner: true })).Contents![0]!.Owner, { ID: /^[0-9a-f]{64}$/ })

  const rolled = await list({ Delimiter: '/' })
  t.same(
    rolled.Contents!.map(({ Key }) => Key),
    ['a', 'c d+ü'],
  )
  t.same(
    rolled.CommonPrefixes!.map(({ Prefix }) => Prefix),
    ['b/', 'd/'],
  )
  t.match(rolled, { KeyCount: 4, Delimiter: '/' })
  const below = await list({ Delimiter: '/', Prefix: 'd/' })
  t.same(
    [below.Contents!.map(({ Key }) => Key), below.CommonPrefixes!.map(({ Prefix }) => Prefix)],
    [['d/y'], ['d/x/']],
  )

  const encoded = await list({ EncodingType: 'url', Prefix: 'c d+', StartAfter: 'c +', Delimiter: '+x' })
  t.match(encoded, { Prefix: 'c%20d%2B', StartAfter: 'c%20%2B', Delimiter: '%2Bx', EncodingType: 'url' })
  t.equal(encoded.Contents![0]!.Key, 'c%20d%2B%C3%BC')

  const first = await list({ MaxKeys: 2, StartAfter: 'a' })
  t.same(
    first.Contents!.map(({ Key }) => Key),
    ['b/1', 'b/2'],
  )
  t.match(first, { IsTruncated: true, StartAfter: 'a', KeyCount: 2, MaxKeys: 2 })
  const next = await list({ MaxKeys: 9, StartAfter: 'zzz', ContinuationToken: first.NextContinuationToken })
  t.same(
    next.Contents!.map(({ Key }) => Key),
    ['c d+ü', 'd/x/1', 'd/y'],
    'the token wins over start-after',
  )
  t.match(next, { StartAfter: 'zzz', ContinuationToken: first.NextContinuationToken, IsTruncated: false })

  t.match(await list({ MaxKeys: 0 }), { KeyCount: 0, IsTruncated: false, MaxKeys: 0 })
  t.match(await list({ MaxKeys: 5000 }), { MaxKeys: 1000 })
  t.match(await list({ Prefix: 'nothing' }), { KeyCount: 0, IsTruncated: false })
  for (const input of [
    { MaxKeys: -1 },
    { ContinuationToken: '' },
    { ContinuationToken: 'x' },
    { EncodingType: 'x' as 'url' },
  ]) {
    t.equal(await outcome(list(input)), '400 InvalidArgument', JSON.stringify(input))
  }
  t.equal(await outcome(client.send(new ListObjectsV2Command({ Bucket: 'no-such-bucket' }))), '404 NoSuchBucket')
})

t.test('the first version of the listing goes on by markers', async t => {
  const list = (input = {}) => client.send(new ListObjectsCommand({ Bucket, ...input }))
  const page = await list({ MaxKeys: 2 })
  t.match(page, { IsTruncated: true, NextMarker: undefined, Marker: '', MaxKeys: 2 })
  t.match(page.Contents![0]!.Owner, { DisplayName: 'admin' })
  const rolled = await list({ MaxKeys: 2, Delimiter: '/' })
  t.match(rolled, { IsTruncated: true, NextMarker: 'b/' })
  const rest = await list({ Delimiter: '/', Marker: rolled.NextMarker })
  t.same([rest.Contents!.map(({ Key }) => Key), rest.CommonPrefixes!.map(({ Prefix }) => Prefix)], [['c d+ü'], ['d/']])
  t.same(
    (await list({ Marker: 'b/15' })).Contents!.map(({ Key }) => Key),
    ['b/2', 'c d+ü', 'd/x/1', 'd/y'],
  )
  t.equal(await outcome(list({ MaxKeys: -1 })), '400 InvalidArgument')
  t.equal(await outcome(client.send(new ListObjectsCommand({ Bucket: 'no-such-bucket' }))), '404 NoSuchBucket')
})

t.test('a token holds any key and nothing else passes for one', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), key => {
      assert.equal(readToken(writeToken(key)), key)
    }),
  )
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), text => {
      try {
        assert.equal(writeToken(readToken(text)), text)
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'InvalidArgument')
      }
    }),
  )
})

t.test('listings of hostile keys agree with a model, page by page', async () => {
  const model = 'model-bucket'
  await client.send(new CreateBucketCommand({ Bucket: model }))
  // The SDK drops values that are nothing but white space with a line end: none of these is.
  const piece = fc.constantFrom(
    'a',
    'b',
    '/',
    '//',
    '.',
    ' ',
    '+',
    '%',
    '&',
    '<',
    '\u0001',
    '\n.',
    '\r',
    'é',
    '\uffff',
    '😀',
    '\ud7ff',
  )
  const text = (minLength: number, maxLength: number) =>
    fc.array(piece, { minLength, maxLength }).map(pieces => pieces.join('').normalize('NFC'))
  const keys = fc.sample(text(1, 5), { numRuns: 120, seed: 7 })
  const stored = [...new Set(keys)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  for (let i = 0; i < stored.length; i += 16) {
    await Promise.all(
      stored.slice(i, i + 16).map(Key => client.send(new PutObjectCommand({ Bucket: model, Key, Body: '' }))),
    )
  }
  const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

  /** What S3 says: keys and common prefixes in one order, each once. */
  const expected = (prefix: string, delimiter: string, startAfter: string): string[] => {
    const entries: string[] = []
    for (const key of stored) {
      if (!key.startsWith(prefix) || bytes(key, startAfter) <= 0) continue
      const cut = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length)
      const entry = cut === -1 ? key : key.slice(0, cut + delimiter.length)
      if (entries.at(-1) !== entry) entries.push(entry)
    }
    return entries
  }
  await fc.assert(
    fc.asyncProperty(
      text(0, 2),
      fc.oneof(fc.constantFrom('', '/'), text(1, 2)),
      fc.oneof(fc.constant(''), fc.constantFrom(...stored)),
      fc.integer({ min: 1, max: 7 }),
      fc.constantFrom(undefined, 'url' as const),
      async (prefix, delimiter, startAfter, maxKeys, encoding) => {
        // A start-after that itself ends in the delimiter names a whole common prefix, which is then left out.
        fc.pre(
          delimiter === '' || !startAfter.startsWith(prefix) || !startAfter.slice(prefix.length).endsWith(delimiter),
        )
        const decode = (value: string) => (encoding === undefined ? value : decodeURIComponent(value))
        const found: string[] = []
        let token: string | undefined
        do {
          const page = await client.send(
            new ListObjectsV2Command({
              Bucket: model,
              Prefix: prefix,
              Delimiter: delimiter,
              MaxKeys: maxKeys,
              EncodingType: encoding,
              ...(token === undefined ? { StartAfter: startAfter } : { ContinuationToken: token }),
            }),
          )
          const entries = [
            ...(page.Contents ?? []).map(({ Key }) => decode(Key!)),
            ...(page.CommonPrefixes ?? []).map(({ Prefix }) => decode(Prefix!)),
          ].sort(bytes)
          assert.equal(page.KeyCount, entries.length)
          assert.ok(entries.length <= maxKeys)
          assert.equal(page.IsTruncated, page.NextContinuationToken !== undefined)
          if (page.IsTruncated) assert.equal(entries.length, maxKeys, 'a page that is not the last is full')
          found.push(...entries)
          token = page.NextContinuationToken
        } while (token !== undefined)
        assert.deepEqual(found, expected(prefix, delimiter, startAfter))
      },
    ),
    { numRuns: Number(process.env.FUZZ_RUNS ?? 60) },
  )
})

t.test('the policy of each bucket is brought up to date before it is asked whether the caller may list it', async t => {
  for (const name of ['policy-a', 'policy-b']) t.equal(await create(name), 'ok')
  const prepared = new Set<string>()
  const request = {
    query: new Map([['prefix', 'policy-']]),
    prepareAccess: async (bucket: string) => {
      await new Promise(resolve => setImmediate(resolve))
      prepared.add(bucket)
    },
    isAllowed: (action: string, bucket: string) => action === 's3:ListBucket' && prepared.has(bucket),
  } as unknown as S3Request
  const { xml } = await listBuckets.handle(request, server.kernel.services)
  t.match(xml, { Buckets: { Bucket: [{ Name: 'policy-a' }, { Name: 'policy-b' }] } })
})
