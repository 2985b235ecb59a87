/** Renames and client tokens over a real drive, and the guarantees they must keep. */
import fc from 'fast-check'
import { storageErrors, recordTable as table } from 'svc/plugins/storage/api'
import t from 'tap'
import type { ObjectsService, RenameRequest } from '../api.ts'
import { collect, owner, payload, startObjects } from './start.ts'

const server = await startObjects({ inMemory: true })
const { objects, storage } = server
t.teardown(server.stop)

const attributes = {
  system: { contentType: 'text/x' },
  user: { a: '1' },
  storageClass: 'STANDARD',
  tags: new Map([['team', 'x']]),
}

let bucketCount = 0
async function newBucket(): Promise<string> {
  const name = `rename-${++bucketCount}`
  await objects.createBucket(name, { region: 'us-east-1', owner })
  return name
}

const put = (bucket: string, key: string, bytes: Buffer | string) =>
  objects.putObject({ bucket, key, attributes, body: payload(Buffer.from(bytes)), checksumAlgorithm: undefined })

// Asynchronous even when the service answers, or refuses, synchronously.
const get = async (bucket: string, key: string) => objects.getObject(bucket, key)

async function rename(bucket: string, sourceKey: string, key: string, more: Partial<RenameRequest> = {}) {
  const source = await get(bucket, sourceKey).catch(() => undefined)
  return objects.renameObject({ bucket, key, sourceKey, source, ...more })
}

async function bytesOf(service: ObjectsService, bucket: string, key: string): Promise<Buffer> {
  const version = await service.getObject(bucket, key)
  return collect(await service.read(version, 0, version.sizeBytes))
}

t.test('a renamed object is unchanged, small or large, and the replaced object is gone', async t => {
  const bucket = await newBucket()
  const large = Buffer.alloc(700_000, 'large')
  for (const bytes of [Buffer.alloc(0), Buffer.from('small'), large]) {
    await put(bucket, 'from', bytes)
    await put(bucket, 'dir/to', 'to be replaced')
    const {
      key: _,
      data: __,
      ...before
    } = (await objects.getObject(bucket, 'from')) as never as Record<string, unknown>
    server.advance(60_000)
    await rename(bucket, 'from', 'dir/to')
    await t.rejects(get(bucket, 'from'), { code: 'NoSuchKey' })
    t.match(await objects.getObject(bucket, 'dir/to'), before, 'metadata, tags, checksum, ETag and time stay')
    t.ok((await bytesOf(objects, bucket, 'dir/to')).equals(bytes), `${bytes.length} bytes`)
    t.match(await objects.usage(bucket), { objects: 1, versions: 1, sizeBytes: bytes.length })
  }
  await objects.deleteObject(bucket, 'dir/to')
  t.match(await objects.usage(bucket), { objects: 0, versions: 0, sizeBytes: 0 })
})

t.test('conditions on source and destination hold, or nothing changes', async t => {
  const bucket = await newBucket()
  const { etag: from, modifiedMs } = await put(bucket, 'from', 'x')
  server.advance(5000)
  const { etag: to } = await put(bucket, 'to', 'y')
  const [before, between] = [modifiedMs - 5000, modifiedMs + 2000]
  const failing: [Partial<RenameRequest>, string][] = [
    [{ sourceConditions: { ifMatch: to } }, 'x-amz-rename-source-If-Match'],
    [{ sourceConditions: { ifNoneMatch: from } }, 'x-amz-rename-source-If-None-Match'],
    [{ sourceConditions: { ifNoneMatch: '*' } }, 'x-amz-rename-source-If-None-Match'],
    [{ sourceConditions: { ifModifiedSinceMs: between } }, 'x-amz-rename-source-If-Modified-Since'],
    [{ sourceConditions: { ifUnmodifiedSinceMs: before } }, 'x-amz-rename-source-If-Unmodified-Since'],
    [{ conditions: { ifMatch: from } }, 'If-Match'],
    [{ conditions: { ifNoneMatch: '*' } }, 'If-None-Match'],
    [{ conditions: { ifModifiedSinceMs: modifiedMs + 9000 } }, 'If-Modified-Since'],
    [{ conditions: { ifUnmodifiedSinceMs: between } }, 'If-Unmodified-Since'],
    [{ key: 'nothing', conditions: { ifMatch: '*' } }, 'If-Match'],
    [{ key: 'nothing', conditions: { ifModifiedSinceMs: before } }, 'If-Modified-Since'],
  ]
  for (const [more, Condition] of failing) {
    await t.rejects(rename(bucket, 'from', 'to', more), { code: 'PreconditionFailed', extra: { Condition } }, Condition)
  }
  t.equal((await bytesOf(objects, bucket, 'from')).toString() + (await bytesOf(objects, bucket, 'to')).toString(), 'xy')
  const holding: Partial<RenameRequest>[] = [
    { sourceConditions: { ifMatch: from, ifUnmodifiedSinceMs: before } },
    { sourceConditions: { ifMatch: '*', ifModifiedSinceMs: before } },
    { sourceConditions: { ifNoneMatch: to, ifModifiedSinceMs: between } },
    { sourceConditions: { ifUnmodifiedSinceMs: modifiedMs } },
    { conditions: { ifNoneMatch: '*' } },
    { conditions: { ifUnmodifiedSinceMs: before } },
  ]
  for (const [index, more] of holding.entries()) {
    await rename(bucket, 'from', `new-${index}`, more)
    await rename(bucket, `new-${index}`, 'from')
  }
  await rename(bucket, 'from', 'to', { conditions: { ifMatch: to } })
  t.same((await bytesOf(objects, bucket, 'to')).toString(), 'x')
})

t.test('a source that is missing, was changed meanwhile, or has versions is not renamed', async t => {
  const bucket = await newBucket()
  await t.rejects(rename(bucket, 'none', 'to'), { code: 'NoSuchKey', extra: { Key: 'none' } })
  await t.rejects(rename('rename-nowhere', 'a', 'b'), { code: 'NoSuchBucket' })
  await put(bucket, 'from', 'x')
  const source = await objects.getObject(bucket, 'from')
  const gone = storageErrors.gone().code
  await objects.changeVersion(bucket, 'from', undefined, { tags: new Map([['team', 'y']]) })
  await t.rejects(rename(bucket, 'from', 'to', { source }), { code: gone }, 'with other tags')
  await put(bucket, 'from', 'z')
  await t.rejects(rename(bucket, 'from', 'to', { source }), { code: gone }, 'another object')
  await t.rejects(rename(bucket, 'from', 'to', { source: undefined }), { code: gone }, 'nobody was authorized for it')
  for (const versioning of ['enabled', 'suspended'] as const) {
    await objects.changeBucket(bucket, { versioning })
    await t.rejects(rename(bucket, 'from', 'to'), { code: 'InvalidBucketState' }, versioning)
  }
  t.equal((await bytesOf(objects, bucket, 'from')).toString(), 'z')
})

t.test('a token makes a rename repeatable, for at least a day and not forever', async t => {
  const bucket = await newBucket()
  await put(bucket, 'from', 'x')
  await rename(bucket, 'from', 'to', { clientToken: 'one' })
  await rename(bucket, 'from', 'to', { clientToken: 'one' })
  await put(bucket, 'from', 'a new one')
  await rename(bucket, 'from', 'to', { clientToken: 'one' })
  t.equal(
    (await bytesOf(objects, bucket, 'to')).toString(),
    'x',
    'a repetition changes nothing, whatever happened since',
  )
  const mismatch = { code: 'IdempotencyParameterMismatch' }
  await t.rejects(rename(bucket, 'from', 'elsewhere', { clientToken: 'one' }), mismatch)
  await t.rejects(rename(bucket, 'from', 'to', { clientToken: 'one', conditions: { ifMatch: '*' } }), mismatch)
  await t.rejects(rename(bucket, 'missing', 'to', { clientToken: 'two' }), { code: 'NoSuchKey' })
  await rename(bucket, 'from', 'third', { clientToken: 'two' })
  t.pass('the token of a failed request can be used again')
  const other = await newBucket()
  await put(other, 'from', 'x')
  await rename(other, 'from', 'to', { clientToken: 'one' })
  t.equal((await bytesOf(objects, other, 'to')).toString(), 'x', 'tokens belong to a bucket')
  await objects.deleteObject(other, 'to')
  await objects.deleteBucket(other)
  await objects.createBucket(other, { region: 'us-east-1', owner })
  await put(other, 'from', 'again')
  await rename(other, 'from', 'to', { clientToken: 'one' })
  t.equal((await bytesOf(objects, other, 'to')).toString(), 'again', 'and not to a later bucket of the same name')
  server.advance(86_400_000)
  await rename(bucket, 'from', 'to', { clientToken: 'one' })
  const kept = () =>
    storage.scan(Buffer.from([table.token]), Buffer.from([table.token + 1]), cursor => {
      let count = 0
      while (cursor.next()) count++
      return count
    })
  const before = await kept()
  server.advance(3 * 86_400_000)
  for (let i = 0; i < before; i++) {
    await rename(bucket, i % 2 === 0 ? 'third' : 'fourth', i % 2 === 0 ? 'fourth' : 'third', { clientToken: `t${i}` })
  }
  t.equal(await kept(), before, 'old tokens are removed as new ones come')
})

t.test('a renamed object stays in the index of due times, wherever the walk over unindexed versions is', async t => {
  const bucket = await newBucket()
  for (const key of ['a', 'b', 'y']) await put(bucket, key, 'x')
  await objects.changeBucket(bucket, { dueIndex: 'on' })
  await rename(bucket, 'y', '0')
  server.advance(2 * 86_400_000)
  const lastDay = Math.floor(server.now() / 86_400_000)
  const due = async () =>
    (await objects.listDue({ bucket, kind: 'current', ranges: [{ prefix: '', lastDay }] })).entries.map(one => one.key)
  t.same(await due(), ['0'], 'before anything else was indexed')
  for (let after: Buffer | undefined = Buffer.alloc(0); after !== undefined; )
    after = await objects.indexDue(bucket, after.length === 0 ? undefined : after)
  await rename(bucket, 'a', 'z')
  t.same((await due()).sort(), ['0', 'b', 'z'])
})

t.test('any sequence of renames, puts and deletes has the same result as on a map', async t => {
  const bucket = await newBucket()
  const key = fc.constantFrom('a', 'a/b', 'b', 'c')
  const step = fc.oneof(
    fc.record({ put: key, size: fc.constantFrom(0, 10, 200_000) }),
    fc.record({ from: key, to: key }),
    fc.record({ drop: key }),
  )
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const model = new Map<string, string>()
      for (const one of ['a', 'a/b', 'b', 'c']) await objects.deleteObject(bucket, one)
      for (const one of steps) {
        if ('put' in one) {
          const text = `${++round}`.padEnd(one.size, '.')
          await put(bucket, one.put, text)
          model.set(one.put, text)
        } else if ('drop' in one) {
          await objects.deleteObject(bucket, one.drop)
          model.delete(one.drop)
        } else if (one.from !== one.to && model.has(one.from)) {
          await rename(bucket, one.from, one.to)
          model.set(one.to, model.get(one.from)!)
          model.delete(one.from)
        }
      }
      const listed = await objects.listObjects({ bucket, prefix: '', delimiter: '', startAfter: '', maxKeys: 100 })
      t.same(
        listed.objects.map(one => one.key),
        [...model.keys()].sort(),
      )
      for (const [name, text] of model) t.ok((await bytesOf(objects, bucket, name)).equals(Buffer.from(text)))
      const sizeBytes = [...model.values()].reduce((sum, text) => sum + text.length, 0)
      t.match(await objects.usage(bucket), { objects: model.size, versions: model.size, sizeBytes })
    }),
    { numRuns: 30 },
  )
})
