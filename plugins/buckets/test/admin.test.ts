/** Buckets over the Admin API: who sees what, what is needed for what, and deleting with everything in it. */
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { type AdminCaller, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'
import { deleteWithContent, emptyBucket } from '../empty-bucket.ts'

const allow = (...Action: string[]) => ({ Effect: 'Allow', Action, Resource: 'arn:aws:s3:::*' })
const on = (bucket: string, ...Action: string[]) => ({ Effect: 'Allow', Action, Resource: `arn:aws:s3:::${bucket}` })

const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      partial: [
        {
          ...on('photos', 's3:ListBucket'),
          Condition: { StringLike: { 's3:prefix': 'public/*' } },
        },
        on('mine', 's3:ListBucket'),
      ],
      team: [{ ...allow('s3:CreateBucket'), Resource: 'arn:aws:s3:::team-*' }],
      versioner: [allow('s3:CreateBucket', 's3:PutBucketVersioning')],
      lister: [on('*', 's3:ListBucket')],
      namer: [allow('s3:ListAllMyBuckets')],
      untold: [
        allow('s3:*', 'admin:GetBucketQuota'),
        { ...on('photos', 's3:GetBucketTagging', 's3:GetBucketVersioning'), Effect: 'Deny' },
      ],
      deleter: [allow('s3:DeleteBucket')],
    }),
  ],
})
t.teardown(() => server.stop())
const { s3: client, signed } = server
const as = (user: string) => server.signedBy(user, userSecret)
const create = (name: string, more: object = {}, call: AdminCaller = signed) =>
  call({ method: 'POST', path: '/api/v1/buckets', body: { name, ...more } })
const outcome = ({ status, json }: { status: number; json: { code?: string } | undefined }) =>
  json?.code === undefined ? `${status}` : `${status} ${json.code}`

t.test('a bucket is described with its settings and its contents', async t => {
  await create('photos', { versioning: true })
  await create('mine')
  const empty = await create('locked', { objectLock: true, region: 'us-east-1' })
  t.match(empty.json, { versioning: 'enabled', objectLockEnabled: true, objects: 0, tags: {}, partial: false })
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'four' }))
  await client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'a', Body: 'again' }))
  await client.send(new DeleteObjectCommand({ Bucket: 'photos', Key: 'a' }))
  const { json } = await signed({ path: '/api/v1/buckets/photos' })
  t.match(json, { objects: 0, versions: 2, deleteMarkers: 1, size: 9, public: false, quotaBytes: 0 })
  t.equal((await signed({ path: `/api/v1/usage?bucket=${'a'.repeat(5000)}` })).status, 400)
  const usage = await signed({ path: '/api/v1/usage?bucket=photos&bucket=mine' })
  t.match(usage.json, { bucketsCount: 2, totalSize: 9, versionsCount: 2, buckets: { photos: { deleteMarkers: 1 } } })
  const info = await signed({ path: '/api/v1/info' })
  t.match(info.json, { buckets: 3, usage: 9 })
})

t.test('a bucket has the settings that its caller may read', async t => {
  const path = '/api/v1/buckets'
  const named = ['name', 'created', 'region', 'partial']
  const usage = ['objects', 'versions', 'deleteMarkers', 'size', 'uploads', 'uploadsSize', 'contentEtag']
  const settings = ['versioning', 'objectLockEnabled', 'quotaBytes', 'public', 'published', 'encryption', 'tags']
  const shown = async (user: string) => {
    const { json } = await as(user)({ path: `${path}?prefix=photos` })
    const one = await as(user)({ path: `${path}/photos` })
    if (one.status === 200) t.same(one.json, json.items[0], user)
    return Object.keys(json.items[0]).sort()
  }
  t.same(await shown('lister'), [...named, ...usage].sort())
  t.same(await shown('namer'), [...named].sort(), 'the names are listed, and nothing else')
  const told = settings.filter(field => field !== 'tags' && field !== 'versioning')
  t.same(await shown('untold'), [...named, ...usage, ...told].sort(), 'a denial counts')
})

t.test('usage by the first folder of keys, exact at once', async t => {
  await create('folders', { versioning: true })
  await create('folders-too')
  const put = (Key: string, Body: string, Bucket = 'folders') =>
    client.send(new PutObjectCommand({ Bucket, Key, Body }))
  await put('a/1', '1')
  await put('a/2/3', '22')
  await put('a/2/3', '333')
  await put('é \u0001/1', '4444')
  await put('flat', '55555')
  await put('a/1', 'elsewhere', 'folders-too')
  await client.send(new DeleteObjectCommand({ Bucket: 'folders', Key: 'a/1' }))
  const prefixes = async (bucket: string) =>
    (await signed({ path: `/api/v1/usage?bucket=${bucket}` })).json.buckets[bucket].prefixes
  const a = { size: 6, objectsCount: 1, versionsCount: 3, deleteMarkers: 1 }
  t.same(await prefixes('folders'), {
    'a/': a,
    'é \u0001/': { size: 4, objectsCount: 1, versionsCount: 1, deleteMarkers: 0 },
  })
  t.same(await prefixes('mine'), {})
  await client.send(new DeleteObjectCommand({ Bucket: 'folders-too', Key: 'a/1' }))
  t.same(await prefixes('folders-too'), {}, 'what is empty is no folder')
  for (const name of ['folders', 'folders-too']) {
    await signed({ method: 'DELETE', path: `/api/v1/buckets/${name}?force=true` })
  }
})

t.test('a caller with the right to list a part of a bucket gets that part', async t => {
  const partial = as('partial')
  const { json } = await partial({ path: '/api/v1/buckets' })
  t.same(
    json.items.map(({ name }: { name: string }) => name),
    ['mine', 'photos'],
  )
  t.equal(json.items[0].size, 0)
  t.same(Object.keys(json.items[1]).toSorted(), ['created', 'name', 'partial', 'region'])
  t.same((await partial({ path: '/api/v1/buckets/photos' })).json, json.items[1])
  t.equal(outcome(await partial({ path: '/api/v1/buckets/locked' })), '403 access_denied')
  t.equal(outcome(await partial({ path: '/api/v1/buckets/missing' })), '403 access_denied', 'nor whether it is there')
})

t.test('pages and prefixes', async t => {
  const names: string[] = []
  let cursor = ''
  do {
    const { json } = await signed({ path: `/api/v1/buckets?limit=2&cursor=${cursor}` })
    names.push(...json.items.map(({ name }: { name: string }) => name))
    cursor = json.nextCursor
  } while (cursor !== '')
  t.same(names, ['locked', 'mine', 'photos'])
  t.same((await signed({ path: '/api/v1/buckets?prefix=mi' })).json.items.length, 1)
  t.same((await as('partial')({ path: '/api/v1/buckets?limit=1' })).json.items[0].name, 'mine')
})

t.test('a bucket is created under the name that the policy is about', async t => {
  t.equal(outcome(await create('team-a', {}, as('team'))), '201')
  t.equal(outcome(await create('other', {}, as('team'))), '403 access_denied')
  t.equal(outcome(await create('team-b', { versioning: true }, as('team'))), '403 access_denied')
  t.equal(outcome(await create('team-b', { objectLock: true }, as('versioner'))), '403 access_denied')
  t.equal(outcome(await create('team-b', { quotaBytes: 1 }, as('versioner'))), '403 access_denied')
  t.equal(outcome(await create('team-b', { versioning: true }, as('versioner'))), '201')
  const taken = await create('team-b')
  t.equal(outcome(taken), '409 already_exists')
  t.match(taken.json.errors, [{ element: '/name', message: 'There is a bucket "team-b" already.' }])
  t.equal(outcome(await create('team-c', { tags: { team: 'c' } }, as('versioner'))), '403 access_denied')
  const wrong = await create('badly-tagged', { tags: { team: 'c', 'k<': 'v' } })
  t.match(wrong, { status: 400, json: { errors: [{ element: '/tags/k<' }] } })
  t.equal(outcome(await signed({ path: '/api/v1/buckets/badly-tagged' })), '404 bucket_not_found', 'nothing was made')
  t.match((await create('tagged', { tags: { team: 'c' } })).json, { tags: { team: 'c' } })
  const limited = await create('with-quota', { quotaBytes: 1000, versioning: true })
  t.match(limited.json, { quotaBytes: 1000, versioning: 'enabled', objectLockEnabled: false })
  t.equal(outcome(await create('elsewhere', { region: 'eu-west-1' })), '400 invalid_argument')
  const refused = await create('No_Name')
  t.equal(outcome(refused), '400 invalid_bucket_name')
  t.match(refused.json.errors, [{ element: '/name', message: refused.json.detail }], 'forms show it at the name')
})

t.test('versioning', async t => {
  const set = (bucket: string, status: string) =>
    signed({ method: 'PUT', path: `/api/v1/buckets/${bucket}/versioning`, body: { status } })
  t.equal(outcome(await set('mine', 'off')), '200', 'what it is already')
  t.equal(outcome(await set('mine', 'enabled')), '200')
  t.equal(outcome(await set('mine', 'off')), '409 conflict')
  t.same((await set('mine', 'suspended')).json, { status: 'suspended' })
  t.equal(outcome(await set('locked', 'suspended')), '409 conflict')
  t.equal(outcome(await set('missing', 'enabled')), '404 bucket_not_found')
})

t.test('a bucket goes only with what was seen in it, if the caller says what that was', async t => {
  const path = '/api/v1/buckets/seen'
  const seen = async () => (await signed({ path })).json.contentEtag as string
  const remove = (ifMatch: string, query = '?force=true') =>
    signed({ method: 'DELETE', path: path + query, headers: { 'if-match': ifMatch } })
  const put = (Key: string, Body: string) => client.send(new PutObjectCommand({ Bucket: 'seen', Key, Body }))
  t.equal(outcome(await create('seen')), '201')
  const empty = await seen()
  t.match(empty, /^[0-9a-f]{32}$/)
  await put('late', 'x')
  t.equal(outcome(await remove(empty)), '412 precondition_failed')
  t.equal(outcome(await remove(empty, '')), '412 precondition_failed')
  const one = await seen()
  await put('late', 'longer')
  t.equal(outcome(await remove(`"${one}"`)), '412 precondition_failed')
  t.equal((await signed({ path })).json.objects, 1, 'nothing is deleted')
  const without = await seen()
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: 'seen', Key: 'upload' }))
  t.match((await signed({ path })).json, { uploads: 1, uploadsSize: 0 })
  t.equal(outcome(await remove(without)), '412 precondition_failed', 'an upload is seen, too')
  const begun = await seen()
  const upload = { Bucket: 'seen', Key: 'upload', UploadId }
  await client.send(new UploadPartCommand({ ...upload, PartNumber: 1, Body: 'seven b' }))
  t.match((await signed({ path })).json, { size: 6, uploads: 1, uploadsSize: 7 })
  t.equal(outcome(await remove(begun)), '412 precondition_failed', 'and how much of it there is')
  await client.send(new AbortMultipartUploadCommand(upload))
  t.match((await signed({ path })).json, { uploads: 0, uploadsSize: 0 })
  t.equal(await seen(), without)
  t.equal(outcome(await remove(without)), '204')
  await create('seen')
  t.equal(outcome(await remove(empty)), '412 precondition_failed', 'another bucket of the same name')
  await put('any', 'x')
  t.equal(outcome(await remove('*')), '204')
})

t.test('a bucket goes empty, or with everything in it, unless something is locked', async t => {
  const remove = (bucket: string, query = '', call = signed) =>
    call({ method: 'DELETE', path: `/api/v1/buckets/${bucket}${query}` })
  t.equal(outcome(await remove('photos', '?force=true', as('deleter'))), '403 access_denied')
  t.equal(outcome(await remove('photos', '', as('deleter'))), '409 bucket_not_empty')
  t.equal(outcome(await remove('photos', '?force=false')), '409 bucket_not_empty')
  await client.send(new CreateMultipartUploadCommand({ Bucket: 'photos', Key: 'upload' }))
  for (let start = 0; start < 1100; start += 100) {
    const keys = Array.from({ length: 100 }, (_, index) => `many/${start + index}`)
    await Promise.all(keys.map(Key => client.send(new PutObjectCommand({ Bucket: 'photos', Key, Body: 'x' }))))
  }
  t.equal(outcome(await remove('photos', '?force=true')), '204')
  t.equal(outcome(await remove('photos', '?force=true')), '404 bucket_not_found')
  await client.send(new PutObjectCommand({ Bucket: 'locked', Key: 'kept', Body: 'x' }))
  await client.send(new PutObjectLegalHoldCommand({ Bucket: 'locked', Key: 'kept', LegalHold: { Status: 'ON' } }))
  t.equal(outcome(await remove('locked', '?force=true')), '409 bucket_not_empty')
  t.equal((await signed({ path: '/api/v1/buckets/locked' })).json.versions, 1)
  t.equal(outcome(await remove('team-a')), '204')
})

t.test('emptying a bucket ends despite concurrent writes and undeletable versions', async t => {
  const { objects } = server.kernel.services
  await create('busy')
  const write = (Key: string) => client.send(new PutObjectCommand({ Bucket: 'busy', Key, Body: 'x' }))
  await Promise.all(['a', 'b', 'c'].map(write))
  const now = Date.now
  let calls = 0
  type Deletion = (...given: Parameters<typeof objects.deleteObjects>) => ReturnType<typeof objects.deleteObjects>
  const empty = (deleteObjects: Deletion, passesMax?: number) => {
    calls = 0
    const counted: Deletion = (bucket, items) => {
      // A loop that does not end is a test that does not end.
      if (++calls > 20) throw new Error('it goes on and on')
      return deleteObjects(bucket, items)
    }
    return emptyBucket({ ...objects, deleteObjects: counted }, 'busy', { now, passesMax })
  }
  const refused = { failed: { code: 'InternalError', message: 'a damaged document' } }
  const allButB: Deletion = async (bucket, items) => {
    const rest = items.filter(({ key }) => key !== 'b')
    const deleted = rest.length === 0 ? [] : [...(await objects.deleteObjects(bucket, rest))]
    return items.map(({ key }) => (key === 'b' ? refused : deleted.shift()!))
  }
  await t.rejects(empty(allButB), { code: 'BucketNotEmpty', message: /InternalError/ })
  t.equal(calls, 2, 'as long as something goes, it goes on')
  const withWriter: Deletion = async (bucket, items) => {
    const outcomes = await objects.deleteObjects(bucket, items)
    await write(`later/${calls}`)
    return outcomes
  }
  await t.rejects(empty(withWriter, 5), { code: 'BucketNotEmpty', message: /After 5 pages/ })
  t.equal(calls, 5)
  await write('kept')
  const writtenUntilMs = (await objects.getBucket('busy')).createdMs - 1
  const onlyOlder = emptyBucket({ ...objects, deleteObjects: () => t.fail('deleted') as never }, 'busy', {
    now,
    writtenUntilMs,
  })
  await t.rejects(onlyOlder, { code: 'BucketNotEmpty', message: /while it was being deleted/ })
  // Between the listing and the deletion, under the same version id.
  const overwritten: Deletion = async (...given) => {
    await client.send(new PutObjectCommand({ Bucket: 'busy', Key: 'kept', Body: 'later' }))
    return objects.deleteObjects(...given)
  }
  const seen = emptyBucket({ ...objects, deleteObjects: overwritten }, 'busy', { now, writtenUntilMs: Date.now() })
  await t.rejects(seen, { code: 'BucketNotEmpty', message: /while it was being deleted/ })
  t.equal((await objects.getObject('busy', 'kept')).sizeBytes, 5)
  const { locks } = server.kernel.services
  const released = locks.hold('busy/delete', { source: 'test' }, async ({ check }) => {
    await locks.release(['busy/delete'])
    const unused = { ...objects, deleteObjects: () => t.fail('deleted') as never }
    await emptyBucket(unused, 'busy', { now, beforeCommit: check })
  })
  await t.rejects(released, { code: 'conflict', message: /was released while it was held/ })
  await empty((bucket, items) => objects.deleteObjects(bucket, items), 1)
  t.same(
    (
      await objects.listVersions({
        bucket: 'busy',
        prefix: '',
        delimiter: '',
        keyMarker: '',
        versionIdMarker: '',
        maxKeys: 9,
      })
    ).versions,
    [],
  )
})

/** What is in the bucket, as `key`, `key -` for a delete marker and `key *` for what a listing of objects shows. */
async function contentOf(Bucket: string): Promise<string[]> {
  const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }))
  const versions = Versions.map(({ Key, IsLatest }) => (IsLatest ? `${Key} *` : `${Key}`))
  return [...versions, ...DeleteMarkers.map(({ Key }) => `${Key} -`)].sort()
}

t.test('of a bucket with a protected version nothing is deleted', async t => {
  const Bucket = 'held'
  await create(Bucket, { objectLock: true })
  const put = (Key: string) => client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
  for (const key of ['a', 'm', 'm', 'n', 'z', 'z']) await put(key)
  const hold = (Key: string, Status: 'ON' | 'OFF', VersionId?: string) =>
    client.send(new PutObjectLegalHoldCommand({ Bucket, Key, LegalHold: { Status }, VersionId }))
  const { VersionId } = await put('n')
  await client.send(new DeleteObjectCommand({ Bucket, Key: 'n' }))
  await hold('n', 'ON', VersionId!)
  const before = await contentOf(Bucket)
  t.same(before, ['a *', 'm', 'm *', 'n', 'n', 'n -', 'z', 'z *'])
  const remove = () => signed({ method: 'DELETE', path: `/api/v1/buckets/${Bucket}?force=true` })
  const refused = await remove()
  t.equal(outcome(refused), '409 bucket_not_empty')
  t.match(refused.json.detail, /protected by object lock\. Nothing was deleted\.$/)
  t.same(await contentOf(Bucket), before)
  const command = new DeleteBucketCommand({ Bucket })
  command.middlewareStack.add(
    next => args => {
      Object.assign((args.request as { headers: object }).headers, { 'x-minio-force-delete': 'true' })
      return next(args)
    },
    { step: 'build' },
  )
  await t.rejects(client.send(command), { name: 'BucketNotEmpty', Detail: /Nothing was deleted/ })
  t.same(await contentOf(Bucket), before)
  await hold('n', 'OFF', VersionId!)
  const RetainUntilDate = new Date(Date.now() + 3_600_000)
  await client.send(
    new PutObjectRetentionCommand({ Bucket, Key: 'n', VersionId, Retention: { Mode: 'GOVERNANCE', RetainUntilDate } }),
  )
  t.equal(outcome(await remove()), '409 bucket_not_empty', 'nobody has asked to bypass it')
  t.same(await contentOf(Bucket), before)
  await client.send(
    new PutObjectRetentionCommand({ Bucket, Key: 'n', VersionId, Retention: {}, BypassGovernanceRetention: true }),
  )
  t.equal(outcome(await remove()), '204')
})

t.test('a deletion that ends half way says what has gone, and brings back nothing that was deleted', async t => {
  const { objects } = server.kernel.services
  const Bucket = 'raced'
  await create(Bucket, { objectLock: true })
  for (const Key of ['a', 'b', 'c']) await client.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))
  await client.send(new DeleteObjectCommand({ Bucket, Key: 'b' }))
  const { versions } = await objects.listVersions({
    bucket: Bucket,
    prefix: 'b',
    delimiter: '',
    keyMarker: '',
    versionIdMarker: '',
    maxKeys: 9,
  })
  const { versionId } = versions.find(({ isDeleteMarker }) => !isDeleteMarker)!
  const late: typeof objects = {
    ...objects,
    async deleteObjects(...given) {
      await objects.changeVersion(Bucket, 'b', versionId, { legalHold: true })
      return objects.deleteObjects(...given)
    },
  }
  await t.rejects(deleteWithContent(late, Bucket, { now: Date.now }), {
    code: 'BucketNotEmpty',
    message: /protected by object lock\. 2 versions and delete markers are deleted already\.$/,
  })
  t.same(await contentOf(Bucket), ['b', 'b -'])
  await objects.changeVersion(Bucket, 'b', versionId, { legalHold: false })
  const written: typeof objects = {
    ...objects,
    async deleteBucket(name) {
      await client.send(new PutObjectCommand({ Bucket, Key: 'late', Body: 'x' }))
      return objects.deleteBucket(name)
    },
  }
  await t.rejects(deleteWithContent(written, Bucket, { now: Date.now }), {
    title: 'The bucket you tried to delete is not empty',
    message: /not empty\. 2 versions/,
  })
  await deleteWithContent(objects, Bucket, { now: Date.now })
  t.equal(outcome(await signed({ path: `/api/v1/buckets/${Bucket}` })), '404 bucket_not_found')
})

t.test('of a key with more than a page of delete markers the versions go first', async t => {
  const { objects } = server.kernel.services
  await create('marked', { versioning: true })
  await client.send(new PutObjectCommand({ Bucket: 'marked', Key: 'a', Body: 'x' }))
  for (let start = 0; start < 1100; start += 100) {
    await Promise.all(Array.from({ length: 100 }, () => objects.deleteObject('marked', 'a')))
  }
  const order: boolean[] = []
  const watched: typeof objects = {
    ...objects,
    async deleteObjects(...given) {
      const outcomes = await objects.deleteObjects(...given)
      for (const outcome of outcomes) order.push('isDeleteMarker' in outcome && outcome.isDeleteMarker)
      return outcomes
    },
  }
  await deleteWithContent(watched, 'marked', { now: Date.now })
  t.same([order.length, order.indexOf(false), order.lastIndexOf(false)], [1101, 0, 0])
})
