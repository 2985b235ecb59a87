/** Objects over the Admin API: folders, versions, descriptions of objects, and deletes of many objects. */
import {
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
} from '@aws-sdk/client-s3'
import { type AdminCaller, responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const allow = (Action: string | string[], Resource: string, Condition?: object) => ({
  Effect: 'Allow',
  Action,
  Resource: `arn:aws:s3:::${Resource}`,
  ...(Condition && { Condition }),
})
const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      guest: [
        allow('s3:ListBucket', 'photos', {
          StringLike: { 's3:prefix': 'public/*' },
          NumericLessThanEquals: { 's3:max-keys': '10' },
        }),
        allow('s3:GetObject', 'photos/public/*'),
      ],
      cleaner: [
        allow('s3:ListBucket', 'photos', { StringEquals: { 's3:prefix': 'public/' } }),
        allow('s3:DeleteObject', 'photos/public/*'),
      ],
      keeper: [allow(['s3:DeleteObjectVersion', 's3:ListBucketVersions'], 'locked*')],
      bypasser: [allow(['s3:DeleteObjectVersion', 's3:BypassGovernanceRetention'], 'locked/*')],
    }),
  ],
})
t.teardown(() => server.stop())
const { s3: client, signed } = server
const as = (user: string) => server.signedBy(user, userSecret)
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`
const put = async (Key: string, Bucket = 'photos', more = {}) =>
  (await client.send(new PutObjectCommand({ Bucket, Key, Body: Key, ...more }))).VersionId
const photos = '/api/v1/buckets/photos'
const locked = '/api/v1/buckets/locked'
const fits = (id: string, json: unknown) =>
  t.same(responseProblems(server.operations.find(operation => operation.id === id)!, json), [], id)
const list = async (query: string, call: AdminCaller = signed) => {
  const answer = await call({ path: `${photos}/objects?${query}` })
  if (answer.status === 200) fits('listObjects', answer.json)
  return answer
}
const keysOf = (items: readonly { key: string }[]) => items.map(({ key }) => key)
const remove = async (body: object, base = photos, call: AdminCaller = signed) => {
  const answer = await call({ method: 'DELETE', path: `${base}/objects`, body })
  if (answer.status === 200) fits('deleteObjects', answer.json)
  return answer
}

t.test('folders, their placeholders, and pages', async t => {
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'photos', versioning: true } })
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'locked', objectLock: true } })
  await put('public/', 'photos', { Body: '' })
  for (const key of ['a', 'public/1', 'public/2', 'public/in/3', 'publications', 'ä']) await put(key)
  const top = (await list('')).json
  t.same([keysOf(top.objects), top.prefixes], [['a', 'publications', 'ä'], ['public/']])
  t.match(top, { isTruncated: false, nextCursor: '' })
  t.match(top.objects[0], { size: 1, etag: /^[0-9a-f]{32}$/, isLatest: true, storageClass: 'STANDARD' })
  t.match(top.objects[0], { versionId: /^.{4,}$/, contentType: 'application/octet-stream' })
  const folder = (await list('prefix=public/')).json
  t.same([keysOf(folder.objects), folder.prefixes], [['public/1', 'public/2'], ['public/in/']])
  t.equal((await list('delimiter=')).json.objects.length, 7)
  const whole = await list('prefix=public/&delimiter=')
  t.same(keysOf(whole.json.objects), ['public/', 'public/1', 'public/2', 'public/in/3'], 'with what a copy takes along')
  await put('public/')
  t.same(keysOf((await list('prefix=public/')).json.objects), ['public/', 'public/1', 'public/2'], 'it has something')
  t.same(keysOf((await list(`prefix=${encodeURIComponent('a\u0308')}`)).json.objects), ['ä'], 'in the form of keys')
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const { json } = await list(`limit=2&cursor=${cursor}`)
    found.push(...keysOf(json.objects), ...json.prefixes)
    cursor = json.nextCursor
    t.equal(json.isTruncated, cursor !== '')
    if (cursor === '') break
  }
  t.same(found, ['a', 'public/', 'publications', 'ä'])
})

t.test('conditions on prefix and size evaluate the effective parameters of the listing', async t => {
  const guest = as('guest')
  t.equal(outcome(await list('prefix=public/&limit=10', guest)), '200')
  t.equal(outcome(await list('prefix=public/', guest)), '403 access_denied', 'a thousand by default')
  t.equal(outcome(await list('limit=1', guest)), '403 access_denied')
  const missing = '/api/v1/buckets/missing/objects'
  t.equal(outcome(await guest({ path: missing })), '403 access_denied')
  t.equal(outcome(await signed({ path: missing })), '404 bucket_not_found')
})

t.test('the description of an object, depending on permissions', async t => {
  const first = await put('public/1', 'photos', {
    ContentType: 'text/plain',
    ContentDisposition: 'attachment; filename="x"',
    Metadata: { colour: 'red' },
    Tagging: 'kind=text',
  })
  await put('public/1')
  const stat = async (query: string, call: AdminCaller = signed) => {
    const answer = await call({ path: `${photos}/objects/stat?${query}` })
    if (answer.status === 200) fits('statObject', answer.json)
    return answer
  }
  const { json } = await stat(`key=public/1&versionId=${first}`)
  t.match(json, {
    key: 'public/1',
    versionId: first,
    size: 8,
    contentType: 'text/plain',
    contentDisposition: 'attachment; filename="x"',
    userMetadata: { colour: 'red' },
    tags: { kind: 'text' },
    parts: 0,
    isLatest: false,
    isDeleteMarker: false,
    versionsTruncated: false,
  })
  t.same(
    json.versions.map(({ isLatest }: { isLatest: boolean }) => isLatest),
    [true, false, false],
  )
  const guest = as('guest')
  const seen = (await stat('key=public/1', guest)).json
  t.same([seen.isLatest, seen.tags, seen.versions], [true, undefined, undefined])
  t.equal(outcome(await stat(`key=public/1&versionId=${first}`, guest)), '403 access_denied')
  t.equal(outcome(await stat('key=a', guest)), '403 access_denied')
  t.match((await stat('key=a', guest)).json.detail, /s3:GetObject for the bucket photos\.$/, 'the request names it')
  t.equal(outcome(await stat('key=none')), '404 object_not_found')
  t.equal(outcome(await stat(`key=a&versionId=${'0'.repeat(14)}`)), '404 version_not_found')
  await put('gone')
  await client.send(new DeleteObjectCommand({ Bucket: 'photos', Key: 'gone' }))
  t.match((await stat('key=gone')).json, { isDeleteMarker: true, isLatest: true, size: 0 })
})

t.test('versions of one key, a page at a time', async t => {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const { json } = await signed({ path: `${photos}/objects/versions?key=public/1&limit=1&cursor=${cursor}` })
    fits('listObjectVersions', json)
    t.equal(json.items.length, 1)
    ids.push(json.items[0].versionId)
    cursor = json.nextCursor
    if (cursor === '') break
  }
  t.equal(ids.length, 3)
  t.same(ids, ids.toSorted().reverse(), 'newest first')
  t.same((await signed({ path: `${photos}/objects/versions?key=public` })).json, { items: [], nextCursor: '' })
})

t.test('versions of all keys under a prefix, a page at a time', async t => {
  const path = `${photos}/objects/versions`
  const found: { key: string; versionId: string; isDeleteMarker: boolean }[] = []
  for (let cursor = ''; ; ) {
    const { json } = await signed({ path: `${path}?prefix=public/&limit=2&cursor=${cursor}` })
    fits('listObjectVersions', json)
    found.push(...json.items)
    cursor = json.nextCursor
    if (cursor === '') break
  }
  const whole = (await signed({ path: `${path}?prefix=public/` })).json
  t.same(found, whole.items, 'pages have what the whole has')
  t.equal(whole.nextCursor, '')
  t.same(keysOf(found), keysOf(found).toSorted(), 'by key')
  t.ok(found.filter(({ key }) => key === 'public/1').length === 3)
  const all = (await signed({ path })).json.items
  t.ok(all.some(({ key, isDeleteMarker }: (typeof found)[number]) => key === 'gone' && isDeleteMarker))
  t.match(await signed({ path: `${path}?key=a&prefix=a` }), { status: 400, json: { code: 'invalid_argument' } })
  t.equal(outcome(await signed({ path: `${path}?cursor=djE6eA` })), '400 invalid_argument', 'a cursor of no list')
  t.equal(outcome(await as('guest')({ path })), '403 access_denied')
})

t.test('folders are deleted, and never their neighbours', async t => {
  const denied = await remove({ objects: [{ key: 'a' }], prefixes: ['public', 'private'] }, photos, as('cleaner'))
  t.equal(outcome(denied), '403 access_denied')
  t.equal((await list('delimiter=')).json.objects.length, 7, 'nothing was deleted')
  const { json } = await remove({ objects: [{ key: 'a' }], prefixes: ['public'] }, photos, as('cleaner'))
  t.same(keysOf(json.deleted), ['public/', 'public/1', 'public/2', 'public/in/3'])
  t.ok(json.deleted.every((item: { deleteMarker: boolean }) => item.deleteMarker))
  t.match(json.errors, [{ key: 'a', code: 'access_denied' }])
  t.same(keysOf((await list('delimiter=')).json.objects), ['a', 'publications', 'ä'])

  const versions = await remove({ objects: [{ key: 'gone' }], prefixes: ['public/'], allVersions: true })
  t.equal(versions.json.deleted.length, 2 + 7 + 4, 'versions and the markers over them')
  t.same(versions.json.errors, [])
  t.same((await signed({ path: `${photos}/objects/versions?key=public/1` })).json.items, [])
  t.equal(outcome(await remove({ objects: [{ key: 'a' }] }, '/api/v1/buckets/missing')), '404 bucket_not_found')
  const stranger = await remove({ objects: [{ key: 'a' }] }, '/api/v1/buckets/missing', as('guest'))
  t.match(stranger.json.errors, [{ code: 'access_denied' }], 'who may do nothing does not learn whether it is there')
  for (const bad of [{}, { objects: [] }, { prefixes: [''] }, { objects: Array(1001).fill({ key: 'a' }) }]) {
    t.equal(outcome(await remove(bad)), '400 invalid_argument')
  }
})

t.test('nothing is deleted that has another ETag by now', async t => {
  const base = '/api/v1/buckets/paused'
  await signed({ method: 'POST', path: '/api/v1/buckets', body: { name: 'paused', versioning: true } })
  await signed({ method: 'PUT', path: `${base}/versioning`, body: { status: 'suspended' } })
  await put('x', 'paused')
  await remove({ objects: [{ key: 'x' }] }, base)
  const versionsOf = async () => (await signed({ path: `${base}/objects/versions` })).json.items
  const [marker] = await versionsOf()
  t.match(marker, { versionId: 'null', isDeleteMarker: true, etag: '' })
  const seen = { key: 'x', versionId: 'null', etag: '' }
  await put('x', 'paused', { Body: 'somebody else' })
  const [stored] = await versionsOf()
  t.match((await remove({ objects: [seen] }, base)).json, { deleted: [], errors: [{ code: 'precondition_failed' }] })
  t.same(await versionsOf(), [stored], 'under the same version id')
  const reader = as('cleaner')
  t.match((await remove({ objects: [seen] }, base, reader)).json.errors, [{ code: 'access_denied' }])
  t.match((await remove({ objects: [{ key: 'x', etag: 'other' }] }, base)).json.errors, [
    { code: 'precondition_failed' },
  ])
  t.equal(
    outcome(await remove({ objects: [{ key: 'x', etag: 'other' }], allVersions: true }, base)),
    '400 invalid_argument',
  )
  await remove({ objects: [{ key: 'x', etag: `"${stored.etag}"` }] }, base)
  t.match(await versionsOf(), [{ isDeleteMarker: true }])
  t.match((await remove({ objects: [seen] }, base)).json, { deleted: [{ deleteMarker: true }], errors: [] })
  t.same(await versionsOf(), [])
})

t.test('locks are respected, and governance can be bypassed with its action', async t => {
  const held = await put('held', 'locked')
  const kept = await put('kept', 'locked')
  const Retention = { Mode: 'GOVERNANCE' as const, RetainUntilDate: new Date(Date.now() + 86_400_000) }
  await client.send(new PutObjectLegalHoldCommand({ Bucket: 'locked', Key: 'held', LegalHold: { Status: 'ON' } }))
  await client.send(new PutObjectRetentionCommand({ Bucket: 'locked', Key: 'kept', Retention }))
  const objects = [
    { key: 'held', versionId: held },
    { key: 'kept', versionId: kept },
    { key: 'kept', versionId: 'what' },
  ]
  const codes = async (body: object, user: string) =>
    (await remove(body, locked, as(user))).json.errors.map(({ code }: { code: string }) => code)
  t.same(await codes({ objects }, 'keeper'), ['object_locked', 'object_locked', 'version_not_found'])
  t.same(await codes({ objects: objects.slice(0, 2), bypassGovernance: true }, 'keeper'), [
    'object_locked',
    'object_locked',
  ])
  t.same(await codes({ objects: objects.slice(0, 2), bypassGovernance: true }, 'bypasser'), ['object_locked'])
  t.same(await codes({ objects: [{ key: 'held' }], allVersions: true }, 'bypasser'), ['access_denied'])
  t.same(await codes({ objects: [{ key: 'held' }], allVersions: true }, 'keeper'), ['object_locked'])
  t.ok(await client.send(new HeadObjectCommand({ Bucket: 'locked', Key: 'held' })))
})

t.test('more than a page under a prefix', async t => {
  for (let start = 0; start < 1100; start += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => put(`many/${start + index}`)))
  }
  const { json } = await remove({ prefixes: ['many'] })
  t.same([json.deleted.length, json.errors, json.isTruncated], [1100, [], false])
  t.same((await list('prefix=many/')).json.objects, [])
  t.equal((await remove({ prefixes: ['many'], allVersions: true })).json.deleted.length, 2200)
})
