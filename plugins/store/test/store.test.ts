/** The store in one thread, over a real drive: preconditions, schemas, buckets, quarantine, secrets, bounds. */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFakeClock, until } from 'svc/testing'
import t from 'tap'
import { Type } from 'typebox'
import type { Collection, DocumentChange, StoreService } from '../api.ts'
import { documentBytesMax } from '../codec.ts'
import { DocumentCollection } from '../collection.ts'
import { documentKey } from '../keys.ts'
import { encodeRecord, stampRecord } from '../record.ts'
import { newFolder, startStore } from './start.ts'

const User = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    age: Type.Optional(Type.Integer()),
    secret: Type.Optional(Type.String({ secret: true })),
  },
  { additionalProperties: false },
)
const declare = (store: StoreService) => ({
  users: store.collection({ name: 'user', version: 1, schema: User }),
  notes: store.collection({ name: 'note', version: 2, schema: Type.Object({ text: Type.String() }), migrate }),
  policies: store.collection({
    name: 'policy',
    version: 1,
    scope: 'bucket',
    schema: Type.Object({ rule: Type.String() }),
  }),
  others: store.collection({ name: 'other', version: 1, scope: 'bucket', schema: Type.Object({ n: Type.Integer() }) }),
})
function migrate(value: unknown, fromVersion: number) {
  const { words } = value as { words: string[] }
  return { text: `${fromVersion}: ${words.join(' ')}` }
}

/** Whether this thread answers from memory: then two reads return the same object. */
function isRemembered(collection: Pick<Collection<unknown>, 'get'>, id: string): boolean {
  const [first, second] = [collection.get(id), collection.get(id)]
  return first !== undefined && first === second
}

const owner = { accessKey: 'a', isRoot: true, ownerId: 'a'.repeat(64), displayName: 'a' }
const { collections, store, storage, kernel } = await startStore(t, declare)
const { users, notes, policies, others } = collections
const { objects } = kernel.services
const createBucket = (name: string) => objects.createBucket(name, { region: 'r', owner })

t.test('a document has the value that was put, is frozen, and has an ETag that callers can compute', async t => {
  t.equal(await users.get('ann'), undefined)
  const written = await users.put('ann', { name: 'Ann', age: 3 })
  const found = await users.get('ann')
  t.same(found, { id: 'ann', value: { name: 'Ann', age: 3 }, ...written })
  const etag = createHash('sha256').update('{"age":3,"name":"Ann"}').digest('hex').slice(0, 32)
  t.equal(written.etag, etag)
  t.throws(() => Object.assign(found!.value, { age: 4 }), TypeError)
  const again = await users.put('ann', { age: 3, name: 'Ann' })
  t.equal(again.etag, etag, 'the same document has the same ETag')
  t.ok(again.sequence > written.sequence)
  t.equal(await users.delete('ann'), true)
  t.equal(await users.delete('ann'), false)
  t.equal(await users.get('ann'), undefined)
})

t.test('preconditions are evaluated in the commit: of many concurrent creates, one succeeds', async t => {
  const first = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => users.put('bob', { name: `B${i}` }, { ifNoneMatch: '*' })),
  )
  t.equal(first.filter(({ status }) => status === 'fulfilled').length, 1)
  const { etag } = (await users.get('bob'))!
  await t.rejects(users.put('bob', { name: 'x' }, { ifMatch: 'f'.repeat(32) }), {
    code: 'precondition_failed',
    status: 412,
    extra: { Collection: 'user', Id: 'bob', Condition: 'If-Match' },
  })
  await t.rejects(users.put('nobody', { name: 'x' }, { ifMatch: '*' }), { code: 'precondition_failed' })
  await t.rejects(users.delete('nobody', { ifMatch: '*' }), { code: 'precondition_failed' })
  const second = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => users.put('bob', { name: `C${i}` }, { ifMatch: etag })),
  )
  t.equal(second.filter(({ status }) => status === 'fulfilled').length, 1)
  await t.rejects(users.delete('bob', { ifMatch: etag }), { code: 'precondition_failed' })
  t.equal(await users.delete('bob', { ifMatch: (await users.get('bob'))!.etag }), true)
})

t.test('a value that does not match the schema is refused with the name of the field, and not repeated', async t => {
  const wrong: [unknown, string, RegExp][] = [
    [{ name: 'x', age: 1.5 }, '/age', /\/age must be integer/],
    [{ age: 1 }, '/', /lacks name/],
    [{ name: 'x', hidden: 'hunter2' }, '/hidden', /\/hidden is not a known field/],
    [{ name: '' }, '/name', /\/name must not have fewer/],
    [{ name: 'x', secret: { hunter2: 'hunter2' } }, '/secret', /\/secret must be string/],
    [{ name: 'x', age: new Date() }, '/age', /no plain object/],
    ['hunter2', '/', /\/ must be object/],
  ]
  for (const [value, field, message] of wrong) {
    const error = await users.put('x', value as never).catch(error => error)
    t.match(error, { code: 'invalid_document', status: 400, message, extra: { Field: field } })
    t.notOk(JSON.stringify([error.message, error.extra]).includes('hunter2'))
  }
  for (const id of ['', 'x'.repeat(1025), '\ud800']) {
    await t.rejects(users.put(id, { name: 'x' }), { code: 'invalid_document', extra: { Field: 'id' } })
    t.equal(await users.get(id), undefined)
  }
  const large = { name: 'x'.repeat(documentBytesMax - 11) }
  await users.put('large', large)
  t.same((await users.get('large'))!.value, large)
  await t.rejects(users.put('large', { name: `${large.name}x` }), { code: 'document_too_large', status: 413 })
  await users.delete('large')
  t.throws(() => store.collection({ name: 'late', version: 1, schema: User }), /during set-up/)
})

t.test('a list is in the order of bytes, in pages of any size', async t => {
  const names = ['a', 'a/b', 'ab', 'b', 'ä', '\uffff', '😀', '\u0001'].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  await Promise.all(names.map(name => users.put(name, { name })))
  for (const limit of [1, 3, 8, 1000]) {
    const seen: string[] = []
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page = await users.list({ limit, startAfter })
      t.ok(page.documents.length <= limit)
      seen.push(...page.documents.map(({ id }) => id))
      startAfter = page.next
    }
    t.same(seen, names)
  }
  t.same(
    (await users.list({ prefix: 'a' })).documents.map(({ id }) => id),
    ['a', 'a/b', 'ab'],
  )
  t.same(
    (await users.list({ prefix: 'a', startAfter: 'a/' })).documents.map(({ id }) => id),
    ['a/b', 'ab'],
  )
  t.same((await users.list({ prefix: '\ud800' })).documents, [])
  t.throws(() => users.list({ limit: 0 }), RangeError)
  t.throws(() => users.list({ limit: 1001 }), RangeError)
  await Promise.all(names.map(name => users.delete(name)))
})

t.test('a transaction is committed as a whole or not at all', async t => {
  await users.put('ann', { name: 'Ann' })
  const refused = store.transaction(tx => {
    tx.delete(users, 'ann')
    tx.put(notes, 'n', { text: 'x' })
    tx.require(users, 'bob', { ifMatch: '*' })
  })
  await t.rejects(refused, { code: 'precondition_failed', extra: { Collection: 'user', Id: 'bob' } })
  t.ok(await users.get('ann'))
  t.equal(await notes.get('n'), undefined)
  const { sequence } = await store.transaction(tx => {
    tx.delete(users, 'ann', { ifMatch: '*' })
    tx.put(notes, 'n', { text: 'x' }, { ifNoneMatch: '*' })
    tx.require(users, 'bob', { ifNoneMatch: '*' })
  })
  t.equal(await users.get('ann'), undefined)
  t.equal((await notes.get('n'))!.sequence, sequence)
  await t.rejects(
    store.transaction(tx => {
      tx.put(notes, 'n', { text: 'y' })
      tx.delete(notes, 'n')
    }),
    /twice/,
  )
  const many = (count: number) =>
    store.transaction(tx => {
      for (let i = 0; i < count; i++) tx.delete(users, `u${i}`)
    })
  await many(4000)
  await t.rejects(many(4001), { code: 'document_too_large' })
  await t.rejects(
    store.transaction(tx => {
      for (let i = 0; i < 20; i++) tx.put(notes, `n${i}`, { text: 'x'.repeat(1_000_000) })
    }),
    { code: 'document_too_large' },
  )
})

t.test('an update changes the newest value; undefined leaves it', async t => {
  await Promise.all(
    Array.from({ length: 50 }, () => users.update('sum', u => ({ name: 'sum', age: (u?.value.age ?? 0) + 1 }))),
  )
  t.equal((await users.get('sum'))!.value.age, 50)
  const { sequence } = (await users.get('sum'))!
  t.equal((await users.update('sum', () => undefined))!.sequence, sequence)
  t.equal(await users.update('none', () => undefined), undefined)
  await t.rejects(
    users.update('sum', () => {
      throw new Error('no')
    }),
    /no/,
  )
  t.equal(
    (await users.update('sum', u => ({ ...u!.value, age: 1 })))!.value.age,
    1,
    'a failed update gives up its turn',
  )
})

t.test('documents of a bucket need the bucket, and are deleted with it', async t => {
  await t.rejects(policies.put('photos', { rule: 'x' }), { code: 'bucket_not_found', extra: { BucketName: 'photos' } })
  await t.rejects(policies.put('../etc', { rule: 'x' }), { code: 'invalid_document' })
  for (const name of ['photos', 'photos2', 'phot']) {
    await createBucket(name)
    await policies.put(name, { rule: name })
  }
  await others.put('photos', { n: 1 })
  t.same(
    (await policies.list({ limit: 2 })).documents.map(({ id }) => id),
    ['phot', 'photos'],
  )
  t.same(
    (await policies.list({ startAfter: 'photos' })).documents.map(({ id }) => id),
    ['photos2'],
  )
  t.same(
    (await others.list()).documents.map(({ id }) => id),
    ['photos'],
  )
  await objects.deleteBucket('photos')
  t.equal(await policies.get('photos'), undefined)
  t.equal(await others.get('photos'), undefined)
  await createBucket('photos')
  t.equal(await policies.get('photos'), undefined, 'a new bucket has nothing of the old one')
  t.same(
    (await policies.list()).documents.map(({ id }) => id),
    ['phot', 'photos2'],
  )
  const both = await Promise.allSettled([objects.deleteBucket('photos'), policies.put('photos', { rule: 'x' })])
  t.equal(both[0].status, 'fulfilled')
  t.equal(await policies.get('photos'), undefined)
})

t.test(
  'watchers are told of each change, deletion and deletion of a bucket; one that throws disturbs no other',
  async t => {
    const heard: DocumentChange<{ rule: string }>[] = []
    const end = [
      policies.watch(() => {
        throw new Error('bad listener')
      }),
      policies.watch(change => heard.push(change)),
    ]
    await createBucket('watched')
    await policies.put('watched', { rule: 'one' })
    await until(() => heard.length === 1)
    await policies.put('watched', { rule: 'two' })
    await until(() => heard.length === 2)
    await objects.deleteBucket('watched')
    await until(() => heard.length === 3)
    t.same(
      heard.map(({ id, before, after }) => [id, before?.value.rule, after?.value.rule]),
      [
        ['watched', undefined, 'one'],
        ['watched', 'one', 'two'],
        ['watched', 'two', undefined],
      ],
    )
    t.ok(kernel.logs.some(({ msg }) => msg === 'a listener to documents failed'))
    for (const stop of end) stop()
    const after: string[] = []
    policies.watch(({ id }) => after.push(id))
    await createBucket('watched')
    await policies.put('watched', { rule: 'three' })
    await until(() => after.length === 1)
    t.equal(heard.length, 3, 'who has ended hears no more')
  },
)

t.test('who waits for the end of what is made and deleted at once is told of it', async t => {
  const heard: DocumentChange<unknown>[] = []
  t.teardown(users.watch(change => heard.push(change)))
  await Promise.all([users.put('fleeting', { name: 'f' }), users.delete('fleeting')])
  await until(() => heard.length > 0 && heard.at(-1)!.after === undefined)
  t.equal(heard.at(-1)!.id, 'fleeting')
})

t.test('a compiled value is cached as long as the document does not change', async t => {
  let compilations = 0
  const names = users.compiled(({ value }) => {
    compilations++
    if (value.name === 'bad') throw new Error('cannot compile')
    return { upper: value.name.toUpperCase() }
  })
  const never = users.compiled(() => undefined)
  t.equal(await names.get('c'), undefined)
  await users.put('c', { name: 'carl' })
  await until(() => isRemembered(users, 'c'))
  const first = await names.get('c')
  t.same(first, { upper: 'CARL' })
  t.equal(await names.get('c'), first)
  t.equal(await never.get('c'), undefined)
  t.equal(compilations, 1)
  await users.put('c', { name: 'cleo' })
  t.same(await names.get('c'), { upper: 'CLEO' })
  await users.put('c', { name: 'bad' })
  t.throws(() => names.get('c'), /cannot compile/)
  await users.delete('c')
  t.equal(await names.get('c'), undefined)
})

t.test('compiled values count in the cache with the memory that they take', async t => {
  const cacheBytes = 64 * 1024
  const bounded = await startStore(t, declare, { config: { cacheBytes } })
  const collection = bounded.collections.users as unknown as DocumentCollection
  let compilations = 0
  const large = collection.compiled(
    () => ++compilations,
    () => 30_000,
  )
  for (const id of ['a', 'b', 'c', 'd']) {
    await bounded.collections.users.put(id, { name: id })
    await until(() => isRemembered(bounded.collections.users, id))
    await large.get(id)
  }
  t.ok(collection.cachedBytes > cacheBytes / 2 && collection.cachedBytes <= cacheBytes, `${collection.cachedBytes}`)
  await large.get('d')
  t.equal(compilations, 4)
  await large.get('a')
  t.equal(compilations, 5, 'the first had to go')
})

/** Writes a record without the store. */
async function plant(collection: string, id: string, value: Buffer, scope: 'global' | 'bucket' = 'global') {
  await storage.execute('user.put', { key: documentKey(scope, collection, id), value })
}

function recordOf(json: string, version = 1): Buffer {
  const record = encodeRecord({ isSealed: false, version, etag: '0'.repeat(32), json })
  stampRecord(record, 1, 1)
  return record
}

t.test('an unreadable document is kept, reported once, and absent; it is overwritten only on request', async t => {
  const good = recordOf('{"name":"x"}')
  const newer = Buffer.from(good)
  newer[0] = 2
  const bad: [string, Buffer, RegExp][] = [
    ['short', Buffer.from('x'), /too short/],
    ['format', newer, /has format 2/],
    ['json', recordOf('{"name":"hunter2'), /no JSON/],
    ['schema', recordOf('{"name":5}'), /\/name must be string/],
    ['version', recordOf('{"name":"x"}', 9), /version 9 of its schema; this release knows up to 1/],
    [
      'sealed',
      encodeRecord({ isSealed: true, version: 1, etag: '0'.repeat(32), json: '{}' }),
      /sealed fields are missing/,
    ],
    [
      'moved',
      encodeRecord({
        isSealed: true,
        version: 1,
        etag: '0'.repeat(32),
        json: '[{"name":"x","secret":null},{"/secret":"AAAA"}]',
      }),
      /\/secret cannot be opened/,
    ],
  ]
  for (const [id, record] of bad) await plant('user', id, record)
  await createBucket('unreadable')
  await plant('policy', 'unreadable', Buffer.from('x'), 'bucket')
  await plant('nobodys-collection', 'x', Buffer.from('x'))
  await users.put('fine', { name: 'fine' })
  await until(async () => (await store.quarantined()).documents.length === bad.length + 1)
  const { documents, counts } = await store.quarantined()
  t.same(counts, { user: bad.length, policy: 1 })
  for (const [id, record, reason] of bad) {
    t.equal(await users.get(id), undefined)
    t.match(await users.problem(id), reason)
    t.match(documents.find(document => document.id === id)?.reason, reason)
    const refusal = { code: 'document_unreadable', status: 409, message: reason }
    await t.rejects(users.put(id, { name: 'x' }), refusal)
    await t.rejects(users.delete(id), refusal)
    await t.rejects(
      users.update(id, () => ({ name: 'x' })),
      refusal,
    )
    await t.rejects(users.put(id, { name: 'x' }, { ifMatch: '*', overwriteUnreadable: true }), {
      code: 'precondition_failed',
    })
    const stored = await storage.get(documentKey('global', 'user', id))
    t.ok(Buffer.from(stored!.value).equals(record), 'kept as it is')
  }
  t.equal(await users.problem('fine'), undefined)
  t.equal(await users.problem('nothing'), undefined)
  t.notOk((await users.list()).documents.some(({ id }) => bad.some(([name]) => name === id)))
  const lines = kernel.logs.filter(({ msg }) => String(msg).startsWith('a document cannot be read'))
  t.equal(lines.length, bad.length + 1, 'each is logged once')
  t.notOk(JSON.stringify(lines).includes('hunter2'))
  await users.put('json', { name: 'new' }, { overwriteUnreadable: true, ifNoneMatch: '*' })
  t.equal((await users.get('json'))!.value.name, 'new')
  t.equal(await users.delete('schema', { overwriteUnreadable: true }), true)
  await objects.deleteBucket('unreadable')
  await until(async () => (await store.quarantined()).documents.length === bad.length - 2)
  t.same((await store.quarantined()).counts, { user: bad.length - 2 })
})

t.test(
  'a document of an older schema is migrated by each read, and stored in the new schema by the next write',
  async t => {
    await plant('note', 'old', recordOf('{"words":["a","b"]}'))
    t.same((await notes.get('old'))!.value, { text: '1: a b' })
    await plant('note', 'broken', recordOf('{"words":"hunter2"}'))
    t.equal(await notes.get('broken'), undefined)
    t.match(await notes.problem('broken'), 'it cannot be migrated from version 1 to 2')
    await notes.update('old', note => ({ text: `${note!.value.text}!` }))
    t.same((await notes.get('old'))!.value, { text: '1: a b!' })
  },
)

t.test('unreadable documents do not prevent a start; the scan finds them without a read', async t => {
  const again = await newFolder(t)
  const first = await startStore(t, declare, { folder: again })
  await first.collections.users.put('good', { name: 'good', secret: 'x' })
  for (let i = 0; i < 450; i++) {
    await first.storage.execute('user.put', { key: documentKey('global', 'user', `bad-${i}`), value: Buffer.from('x') })
  }
  await first.stop()
  const second = await startStore(t, declare, { folder: again })
  await until(async () => (await second.store.quarantined()).counts.user === 450)
  t.equal((await second.collections.users.get('good'))!.value.secret, 'x')
  t.equal((await second.collections.users.list()).documents.length, 1)
})

t.test('secrets are sealed on the drive, plain in memory, and not revealed by an ETag', async t => {
  const path = await newFolder(t)
  const first = await startStore(t, declare, { folder: path })
  const planted = 'planted-secret-4711'
  const { etag } = await first.collections.users.put('ann', { name: 'Ann', secret: planted })
  t.equal((await first.collections.users.get('ann'))!.value.secret, planted)
  t.not(etag, createHash('sha256').update(`{"name":"Ann","secret":"${planted}"}`).digest('hex').slice(0, 32))
  t.equal((await first.collections.users.put('ann', { name: 'Ann', secret: planted })).etag, etag)
  t.not((await first.collections.users.put('ann', { name: 'Ann', secret: 'other' })).etag, etag)
  await first.collections.users.put('ann', { name: 'Ann', secret: planted })
  // Sealed for ann: copied to another document, it cannot be opened.
  const record = Buffer.from((await first.storage.get(documentKey('global', 'user', 'ann')))!.value)
  await first.storage.execute('user.put', { key: documentKey('global', 'user', 'eve'), value: record })
  t.equal(await first.collections.users.get('eve'), undefined)
  t.match(await first.collections.users.problem('eve'), /\/secret cannot be opened/)
  await first.stop()
  const files = globSync('**', { cwd: path, withFileTypes: true }).filter(file => file.isFile())
  const contents = files.map(file => readFileSync(join(file.parentPath, file.name)))
  t.ok(
    contents.some(bytes => bytes.includes('"name":"Ann"')),
    'the search finds what is not sealed',
  )
  for (const form of [planted, Buffer.from(planted).toString('base64').slice(0, 20), 'root password']) {
    t.notOk(
      contents.some(bytes => bytes.includes(form)),
      form,
    )
  }
  await t.rejects(startStore(t, declare, { folder: path, config: { rootPassword: 'wrong password' } }), {
    message: /SVC_ROOT_PASSWORD_PREVIOUS/,
  })
  const masterKey = `k:${Buffer.alloc(32, 1).toString('base64')}`
  const moved = await startStore(t, declare, { folder: path, config: { masterKey } })
  t.equal((await moved.collections.users.get('ann'))!.value.secret, planted)
  await moved.stop()
  await t.rejects(startStore(t, declare, { folder: path }), { message: /named "k".*SVC_KMS_SECRET_KEY/ })
  const last = await startStore(t, declare, { folder: path, config: { masterKey, rootPassword: 'wrong password' } })
  t.equal((await last.collections.users.get('ann'))!.value.secret, planted)
})

t.test('memory is bounded, and evicted documents are read again', async t => {
  const cacheBytes = 64 * 1024
  const bounded = await startStore(t, declare, { config: { cacheBytes } })
  const collection = bounded.collections.users as unknown as DocumentCollection
  t.ok(collection instanceof DocumentCollection)
  const ids = Array.from({ length: 500 }, (_, i) => `user-${i}`)
  await Promise.all(ids.map(id => bounded.collections.users.put(id, { name: id.repeat(10) })))
  await until(() => isRemembered(bounded.collections.users, 'user-1'))
  for (const id of ids) t.equal((await bounded.collections.users.get(id))!.id, id)
  t.ok(
    collection.cachedBytes > cacheBytes / 2 && collection.cachedBytes <= cacheBytes,
    `${collection.cachedBytes} bytes`,
  )
  for (let i = 0; i < 20_000; i++) await bounded.collections.users.get(`nobody-${i}`)
  t.ok(collection.cachedIds.filter(id => id.startsWith('nobody')).length <= 4096)
  t.ok(collection.cachedIds.filter(id => id.startsWith('user')).length > 20, 'guessing pushes no document out')
})

t.test('the resync finds changes that the generations missed, and reports them to watchers', async t => {
  const clock = createFakeClock(Date.now())
  const own = await startStore(t, declare, { ports: { clock }, config: { resyncIntervalMs: 60_000 } })
  const heard: (string | undefined)[] = []
  let resyncs = 0
  own.collections.users.watch(
    ({ after }) => heard.push(after?.value.name),
    () => resyncs++,
  )
  await clock.advance(10)
  await own.collections.users.put('ann', { name: 'Ann' })
  await until(() => heard.length === 1)
  const collection = own.collections.users as unknown as DocumentCollection
  t.equal(await collection.verify('ann'), true)
  // A change that does not go through this process.
  const known = own.collections.users.get('ann') as { value: { name: string } }
  const cached = await own.collections.users.get('ann')
  t.equal(cached, known)
  Object.defineProperty(own.storage, 'get', {
    value: async () => {
      const record = encodeRecord({ isSealed: false, version: 1, etag: '1'.repeat(32), json: '{"name":"Bea"}' })
      stampRecord(record, 5, 5)
      return { value: record, body: undefined }
    },
    configurable: true,
  })
  const before = resyncs
  await clock.advance(60_000)
  await until(() => resyncs > before)
  t.same(heard, ['Ann', 'Bea'])
  t.ok(own.kernel.logs.some(({ level, id }) => level === 'error' && id === 'ann'))
})

t.test('invalid declarations are refused at once', async t => {
  const schema = Type.Object({})
  const attempts: [(store: StoreService) => unknown, RegExp][] = [
    [store => store.collection({ name: 'Bad Name', version: 1, schema }), /cannot be the name/],
    [store => store.collection({ name: 'x', version: 0, schema }), /integer from 1/],
    [
      store => [
        store.collection({ name: 'x', version: 1, schema }),
        store.collection({ name: 'x', version: 1, schema }),
      ],
      /twice/,
    ],
    [
      store => {
        const collection = store.collection({ name: 'x', version: 1, schema })
        for (let i = 0; i < 17; i++) collection.compiled(() => i)
      },
      /compiled forms/,
    ],
  ]
  for (const [attempt, message] of attempts) await t.rejects(startStore(t, attempt), message)
})
