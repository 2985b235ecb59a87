import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  type CopyObjectCommandInput,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketTaggingCommand,
  DeleteObjectCommand,
  DeleteObjectTaggingCommand,
  GetBucketTaggingCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  PutBucketTaggingCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectTaggingCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { AnyPlugin } from 'svc/kernel'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import standard from 'svc/plugins/standard'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client, forger, anonymous } = server
const Bucket = 'tagged-bucket'
await client.send(new CreateBucketCommand({ Bucket }))

const set = (tags: Record<string, string>) => ({ TagSet: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) })
const put = (Key: string, extra = {}) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'x', ...extra }))
const tag = (Key: string, tags: Record<string, string>, VersionId?: string) =>
  client.send(new PutObjectTaggingCommand({ Bucket, Key, VersionId, Tagging: set(tags) }))
const tagsOf = async (Key: string, VersionId?: string, bucket = Bucket) => {
  const { TagSet } = await client.send(new GetObjectTaggingCommand({ Bucket: bucket, Key, VersionId }))
  return Object.fromEntries(TagSet!.map(({ Key, Value }) => [Key, Value]))
}

t.test('every operation refuses strangers and wrong secrets', async t => {
  await put('secret')
  for (const method of ['GET', 'PUT', 'DELETE']) {
    for (const path of ['', '/secret'])
      t.equal((await anonymous(method, `/${Bucket}${path}?tagging`)).status, 403, method)
  }
  const refused = await outcome(forger.send(new GetObjectTaggingCommand({ Bucket, Key: 'secret' })))
  t.equal(refused, '403 SignatureDoesNotMatch')
})

t.test('tags keep their order, those whose keys are numbers, too', async t => {
  const pairs = ['b', '10', 'a', '2', '__proto__'].map(Key => ({ Key, Value: `of ${Key}` }))
  await put('ordered')
  await client.send(new PutObjectTaggingCommand({ Bucket, Key: 'ordered', Tagging: { TagSet: pairs } }))
  t.same((await client.send(new GetObjectTaggingCommand({ Bucket, Key: 'ordered' }))).TagSet, pairs)
  await put('ordered', { Tagging: '10=x&b=y&2=z' })
  const { TagSet } = await client.send(new GetObjectTaggingCommand({ Bucket, Key: 'ordered' }))
  t.same(
    TagSet!.map(({ Key }) => Key),
    ['10', 'b', '2'],
  )
  await client.send(new PutBucketTaggingCommand({ Bucket, Tagging: { TagSet: pairs } }))
  t.same((await client.send(new GetBucketTaggingCommand({ Bucket }))).TagSet, pairs)
  await client.send(new DeleteBucketTaggingCommand({ Bucket }))
})

t.test('tags are set, replaced and removed; nothing else of the object changes', async t => {
  for (const [Key, Body] of [
    ['small', 'x'],
    ['large', Buffer.alloc(300_000, 7)],
  ] as const) {
    await put(Key, { Body, Metadata: { a: 'b' } })
    const before = await client.send(new HeadObjectCommand({ Bucket, Key }))
    t.same(await tagsOf(Key), {})
    await tag(Key, { one: '1', 'zwei/ü': '' })
    t.same(await tagsOf(Key), { one: '1', 'zwei/ü': '' })
    const after = await client.send(new GetObjectCommand({ Bucket, Key }))
    t.match(after, { ETag: before.ETag, LastModified: before.LastModified, TagCount: 2, Metadata: { a: 'b' } })
    t.equal((await after.Body!.transformToByteArray()).length, Body.length)
    t.match(await client.send(new HeadObjectCommand({ Bucket, Key })), { TagCount: 2 })
    await tag(Key, { three: '3' })
    t.same(await tagsOf(Key), { three: '3' })
    await client.send(new DeleteObjectTaggingCommand({ Bucket, Key }))
    t.same(await tagsOf(Key), {})
    t.equal((await client.send(new HeadObjectCommand({ Bucket, Key }))).TagCount, undefined)
  }
  for (const Key of ['nothing']) {
    t.equal(await outcome(tagsOf(Key)), '404 NoSuchKey')
    t.equal(await outcome(tag(Key, {})), '404 NoSuchKey')
    t.equal(await outcome(client.send(new DeleteObjectTaggingCommand({ Bucket, Key }))), '404 NoSuchKey')
  }
})

t.test('sets that are no sets of tags are refused', async t => {
  await put('k')
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']))
  t.equal(await outcome(tag('k', many(10))), 'ok')
  t.equal(await outcome(tag('k', many(11))), '400 BadRequest')
  for (const tags of [
    { ['k'.repeat(129)]: 'v' },
    { k: 'v'.repeat(257) },
    { '': 'v' },
    { 'aws:k': 'v' },
    { 'a&b': 'v' },
    { k: 'a\nb' },
  ] as Record<string, string>[]) {
    t.equal(await outcome(tag('k', tags)), '400 InvalidTag', JSON.stringify(tags))
  }
  t.equal(await outcome(tag('k', { ['k'.repeat(128)]: 'ü'.repeat(256) })), 'ok')
  const Tagging = { TagSet: [1, 2].map(() => ({ Key: 'same', Value: 'x' })) }
  t.equal(await outcome(client.send(new PutObjectTaggingCommand({ Bucket, Key: 'k', Tagging }))), '400 InvalidTag')
  const keyless = { TagSet: [{ Key: undefined, Value: 'x' }] } as never
  t.equal(
    await outcome(client.send(new PutObjectTaggingCommand({ Bucket, Key: 'k', Tagging: keyless }))),
    '400 MalformedXML',
  )
  t.equal(Object.keys(await tagsOf('k'))[0]?.length, 128, 'what was refused changed nothing')
})

t.test('tags come with a write, and with a copy as the directive says', async t => {
  await put('source', { Tagging: 'a=1&b=x%20y%2Bz+%C3%BC&c=' })
  t.same(await tagsOf('source'), { a: '1', b: 'x y+z ü', c: '' })
  for (const Tagging of ['a=1&a=2', 'a=%ff', '%zz=1']) {
    t.equal(await outcome(put('refused', { Tagging })), '400 InvalidArgument', Tagging)
  }
  t.equal(
    await outcome(put('refused', { Tagging: Array.from({ length: 11 }, (_, i) => `k${i}=v`).join('&') })),
    '400 BadRequest',
  )
  t.equal(await outcome(put('refused', { Tagging: 'a=%26' })), '400 InvalidTag')
  t.equal(await outcome(tagsOf('refused')), '404 NoSuchKey')
  const copy = (extra: Partial<CopyObjectCommandInput>) =>
    client.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource: `${Bucket}/source`, ...extra }))
  await copy({})
  t.same(await tagsOf('copy'), { a: '1', b: 'x y+z ü', c: '' })
  await copy({ Tagging: 'ignored=1' })
  t.same(await tagsOf('copy'), { a: '1', b: 'x y+z ü', c: '' })
  await copy({ TaggingDirective: 'REPLACE', Tagging: 'new=1' })
  t.same(await tagsOf('copy'), { new: '1' })
  await copy({ TaggingDirective: 'REPLACE' })
  t.same(await tagsOf('copy'), {})
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts', Tagging: 'p=1' }))
  const { ETag } = await client.send(
    new UploadPartCommand({ Bucket, Key: 'parts', UploadId, PartNumber: 1, Body: 'x' }),
  )
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  await client.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'parts', UploadId, MultipartUpload }))
  t.same(await tagsOf('parts'), { p: '1' })
})

t.test('each version has its own tags, and a delete marker none', async t => {
  const versioned = 'tagged-versions'
  await client.send(new CreateBucketCommand({ Bucket: versioned }))
  const input = { Bucket: versioned, Key: 'k' }
  const VersioningConfiguration = { Status: 'Enabled' as const }
  await client.send(new PutBucketVersioningCommand({ Bucket: versioned, VersioningConfiguration }))
  const first = await client.send(new PutObjectCommand({ ...input, Body: '1', Tagging: 'v=1' }))
  const second = await client.send(new PutObjectCommand({ ...input, Body: '2' }))
  const { VersionId } = first
  const change = new PutObjectTaggingCommand({ ...input, VersionId, Tagging: set({ v: 'one' }) })
  t.equal((await client.send(change)).VersionId, VersionId)
  t.same(await tagsOf('k', VersionId, versioned), { v: 'one' })
  t.same(await tagsOf('k', undefined, versioned), {})
  const read = await client.send(new GetObjectTaggingCommand(input))
  t.equal(read.VersionId, second.VersionId)
  const removed = await client.send(new DeleteObjectTaggingCommand({ ...input, VersionId }))
  t.equal(removed.VersionId, VersionId)
  t.equal(await outcome(tagsOf('k', '00000000000001', versioned)), '404 NoSuchVersion')
  t.equal(await outcome(tagsOf('k', 'no id', versioned)), '400 InvalidArgument')
  const marker = await client.send(new DeleteObjectCommand(input))
  for (const id of [undefined, marker.VersionId]) {
    t.equal(await outcome(tagsOf('k', id, versioned)), '405 MethodNotAllowed')
    const tagging = new PutObjectTaggingCommand({ ...input, VersionId: id, Tagging: set({}) })
    t.equal(await outcome(client.send(tagging)), '405 MethodNotAllowed')
  }
})

t.test('a bucket has tags, from its creation or later', async t => {
  const read = async (name: string) =>
    Object.fromEntries(
      (await client.send(new GetBucketTaggingCommand({ Bucket: name }))).TagSet!.map(one => [one.Key, one.Value]),
    )
  t.equal(await outcome(read(Bucket)), '404 NoSuchTagSet')
  const tags = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key ${i}`, `value ${i}`]))
  const write = (given: Record<string, string>) =>
    client.send(new PutBucketTaggingCommand({ Bucket, Tagging: set(given) }))
  t.equal((await write(tags)).$metadata.httpStatusCode, 204)
  t.same(await read(Bucket), tags)
  t.equal(await outcome(write({ ...tags, more: '1' })), '400 BadRequest')
  await client.send(new DeleteBucketTaggingCommand({ Bucket }))
  t.equal(await outcome(read(Bucket)), '404 NoSuchTagSet')
  const create = (name: string, given: Record<string, string>) =>
    outcome(
      client.send(new CreateBucketCommand({ Bucket: name, CreateBucketConfiguration: { Tags: set(given).TagSet } })),
    )
  t.equal(await create('born-tagged', { a: '1' }), 'ok')
  t.same(await read('born-tagged'), { a: '1' })
  t.equal(await create('never-born', { 'aws:a': '1' }), '400 InvalidTag')
  t.equal(await outcome(read('never-born')), '404 NoSuchBucket')
})

t.test('without the plugin, tags in headers are answered and not ignored', async t => {
  const plugins = standard.filter(({ name }: AnyPlugin) => name !== 'tagging')
  const bare = await startServer({ plugins })
  t.teardown(() => bare.stop())
  await bare.client.send(new CreateBucketCommand({ Bucket }))
  const sent = bare.client.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', Tagging: 'a=1' }))
  t.equal(await outcome(sent), '501 NotImplemented')
  t.equal(await outcome(bare.client.send(new GetBucketTaggingCommand({ Bucket }))), '501 NotImplemented')
})
