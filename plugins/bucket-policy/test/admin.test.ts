import { responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(server.stop)
const { bucketPolicy, objectOwnership, objects, iam, policy } = server.kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })
const path = '/api/v1/buckets/photos'

async function call(
  id: string,
  options: { body?: unknown; query?: string; ifMatch?: string; ifNoneMatch?: string; bucket?: string } = {},
) {
  const operation = server.operations.find(other => other.id === id)!
  const { body, query = '', ifMatch, ifNoneMatch, bucket = 'photos' } = options
  const answer = await server.signed({
    method: operation.method,
    path: `/api/v1${operation.path.replace('{bucket}', bucket)}${query}`,
    body,
    headers: { ...(ifMatch && { 'if-match': ifMatch }), ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }) },
  })
  if (answer.status < 300) t.same(responseProblems(operation, answer.json), [], id)
  return { ...answer, etag: String(answer.headers.etag), outcome: `${answer.status} ${answer.json?.code ?? ''}`.trim() }
}

const statement = {
  Sid: 'Open',
  Effect: 'Allow',
  Principal: '*',
  Action: 's3:GetObject',
  Resource: 'arn:aws:s3:::photos/open/*',
}
const document = { Version: '2012-10-17', Statement: [statement] }
const mayRead = (key: string) =>
  policy.isAllowed({ identity: undefined, action: 's3:GetObject', bucket: 'photos', key })

t.test('a policy is put, read and deleted under its ETag', async t => {
  t.equal((await call('getBucketPolicy')).outcome, '404 policy_not_found')
  const put = await call('putBucketPolicy', { body: { ...document, Statement: statement } })
  t.equal(put.outcome, '200')
  t.same(put.json, document, 'statements as a list')
  t.match(put.etag, /^"[0-9a-f]{32}"$/)
  const got = await call('getBucketPolicy')
  t.same([got.json, got.etag], [document, put.etag])
  t.equal(mayRead('open/a'), true)
  t.match((await call('getBucket')).json, { public: true }, 'one public folder makes a bucket public')

  const other = { ...document, Id: 'second' }
  t.equal((await call('putBucketPolicy', { body: other, ifNoneMatch: '*' })).outcome, '412 precondition_failed')
  t.equal((await call('putBucketPolicy', { body: other, ifNoneMatch: '"0000"' })).outcome, '400 invalid_argument')
  t.equal((await call('putBucketPolicy', { body: other, ifMatch: '"0000"' })).outcome, '412 precondition_failed')
  t.equal((await call('putBucketPolicy', { body: other, ifMatch: put.etag })).outcome, '200')
  t.equal((await call('deleteBucketPolicy', { ifMatch: put.etag })).outcome, '412 precondition_failed')
  t.equal((await call('deleteBucketPolicy')).outcome, '204')
  t.equal((await call('deleteBucketPolicy')).outcome, '204', 'and again')
  t.equal((await call('putBucketPolicy', { body: other, ifNoneMatch: '*' })).outcome, '200', 'there is none')
  t.equal((await call('deleteBucketPolicy')).outcome, '204')
  t.equal(mayRead('open/a'), false)
  t.match((await call('getBucket')).json, { public: false })
  const operations = ['getBucketPolicy', 'deleteBucketPolicy', 'getBucketAccess', 'deleteBucketAccess']
  for (const id of operations) t.equal((await call(id, { bucket: 'no-such' })).outcome, '404 bucket_not_found', id)
  t.equal((await call('putBucketPolicy', { bucket: 'no-such', body: {} })).outcome, '404 bucket_not_found')
})

t.test('errors of a policy name the statement, line and column', async t => {
  const wrong = { Version: '2012-10-17', Statement: [statement, { ...statement, Sid: 'Two', Action: 's3:Fly' }] }
  const answer = await call('putBucketPolicy', { body: wrong })
  t.equal(answer.outcome, '400 malformed_policy')
  t.match(answer.json.errors, [{ statement: 1, sid: 'Two', element: 'Action', line: 15, column: 17, message: /Fly/ }])
  t.equal((await call('putBucketPolicy', { body: {} })).outcome, '400 malformed_policy')
  const long = { ...document, Id: 'x'.repeat(20 * 1024) }
  t.equal((await call('putBucketPolicy', { body: long })).outcome, '413 entity_too_large')
  const dense = JSON.stringify({
    ...document,
    Statement: Array.from({ length: 140 }, (_, i) => ({ ...statement, Sid: `s${i}` })),
  })
  t.ok(Buffer.byteLength(dense) < 20 * 1024)
  t.equal((await call('putBucketPolicy', { body: dense })).outcome, '200', 'too long only with white space')
  t.equal((await call('getBucketPolicy')).json.Statement.length, 140)
  t.equal(mayRead('open/a'), true)
  await call('deleteBucketPolicy')
})

t.test('presets are statements among others', async t => {
  const set = (preset: string, prefix?: string) => call('setBucketAccess', { body: { preset, prefix } })
  const nothing = { bucket: 'photos', rules: [], public: false, hasPolicy: false }
  t.same((await call('getBucketAccess')).json, nothing)
  t.same((await set('private', 'a/')).json, nothing, 'there was nothing to take back')
  t.same((await set('download', 'a/')).json.rules, [{ prefix: 'a/', keys: 'a/*', preset: 'download' }])
  t.equal(mayRead('a/x'), true)
  t.equal(mayRead('b/x'), false)
  const may = (action: string, key: string, prefix?: string) => {
    const conditions = () => new Map(prefix === undefined ? [] : [['s3:prefix', [prefix]]])
    return policy.isAllowed({ identity: undefined, action, bucket: 'photos', key, conditions })
  }
  await set('upload', 'in/')
  t.same([may('s3:PutObject', 'in/x'), may('s3:GetObject', 'in/x'), may('s3:PutObject', 'a/x')], [true, false, false])
  await set('public', 'all/')
  t.same(
    [may('s3:PutObject', 'all/x'), may('s3:GetObject', 'all/x'), may('s3:DeleteObject', 'all/x')],
    [true, true, true],
  )
  t.same(
    [may('s3:ListBucket', '', 'all/y'), may('s3:ListBucket', '', 'a/'), may('s3:ListBucket', '')],
    [true, false, false],
  )
  t.same((await call('getBucketAccess')).json, {
    bucket: 'photos',
    rules: [
      { prefix: 'a/', keys: 'a/*', preset: 'download' },
      { prefix: 'all/', keys: 'all/*', preset: 'public' },
      { prefix: 'in/', keys: 'in/*', preset: 'upload' },
    ],
    public: true,
    hasPolicy: true,
  })
  t.same((await set('download', 'all/')).json.rules[1], { prefix: 'all/', keys: 'all/*', preset: 'download' })
  t.equal(may('s3:ListBucket', '', 'all/y'), false, 'the listing went with the preset')

  t.same((await set('download-list', 'all/')).json.rules[1], {
    prefix: 'all/',
    keys: 'all/*',
    preset: 'download-list',
  })
  t.same(
    [may('s3:GetObject', 'all/x'), may('s3:ListBucket', '', 'all/y'), may('s3:ListBucket', '')],
    [true, true, false],
    'only listings of the prefix',
  )
  await set('download', 'all/')
  t.equal(may('s3:ListBucket', '', 'all/y'), false)
  await set('download-list', 'all/')

  const { json: written } = await call('getBucketPolicy')
  const mixed = { ...written, Statement: [{ ...statement, Effect: 'Deny' }, ...written.Statement] }
  await call('putBucketPolicy', { body: mixed })
  for (const prefix of ['a/', 'all/', 'in/']) await call('deleteBucketAccess', { query: `?prefix=${prefix}` })
  t.same((await call('getBucketAccess')).json, { ...nothing, hasPolicy: true })
  t.same((await call('getBucketPolicy')).json.Statement, [{ ...statement, Effect: 'Deny' }], 'others are left alone')
  await call('deleteBucketPolicy')

  await set('public')
  t.same((await call('getBucketAccess')).json.rules, [{ prefix: '', keys: '*', preset: 'public' }])
  t.equal(may('s3:ListBucket', '', 'x'), true)
  await set('download', 'a/')
  t.equal((await call('deleteBucketAccess')).outcome, '204', 'of all prefixes')
  t.same((await call('getBucketAccess')).json, nothing, 'nothing is left, not even a policy')
  for (const prefix of ['a*', 'a?', 'a$']) t.equal((await set('download', prefix)).outcome, '400 invalid_argument')
  t.equal((await set('open')).outcome, '400 invalid_argument')
})

t.test('presets that are set at once are all set', async t => {
  const prefixes = Array.from({ length: 6 }, (_, index) => `p${index}/`)
  const answers = await Promise.all(
    prefixes.map(prefix => call('setBucketAccess', { body: { preset: 'download', prefix } })),
  )
  t.same(
    answers.map(({ outcome }) => outcome),
    prefixes.map(() => '200'),
  )
  t.same(
    (await call('getBucketAccess')).json.rules.map(({ prefix }: { prefix: string }) => prefix),
    prefixes,
  )
  await call('deleteBucketPolicy')
})

t.test('a bucket that an access control list opens is public without a policy', async t => {
  await objects.createBucket('listed', { region: 'us-east-1', owner: iam.owner })
  const described = async () => (await call('getBucketAccess', { bucket: 'listed' })).json
  t.match(await described(), { public: false, hasPolicy: false })
  await objectOwnership.changeAccessControl('listed', () => ({ ownership: 'ObjectWriter', acl: 'public-read' }))
  t.match(await described(), { public: true, hasPolicy: false })
  t.match((await call('getBucket', { bucket: 'listed' })).json, { public: true })
})

t.test('while public access is blocked, nothing public is stored', async t => {
  const block = {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: true,
    restrictPublicBuckets: false,
  }
  await objectOwnership.setPublicAccessBlock('photos', block)
  t.equal((await call('putBucketPolicy', { body: document })).outcome, '403 public_access_blocked')
  t.equal((await call('setBucketAccess', { body: { preset: 'download' } })).outcome, '403 public_access_blocked')
  t.equal(await bucketPolicy.get('photos'), undefined)
  await objectOwnership.setPublicAccessBlock('photos', {
    ...block,
    blockPublicPolicy: false,
    restrictPublicBuckets: true,
  })
  t.match((await call('setBucketAccess', { body: { preset: 'download' } })).json, { public: false, hasPolicy: true })
})

t.test('callers without the right are refused', async t => {
  const { users } = server.kernel.services
  await users.createUser({ accessKey: 'bob', secretKey: 'secret-of-bob' })
  const bob = server.signedBy('bob', 'secret-of-bob')
  for (const place of [`${path}/policy`, `${path}/access`]) {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const answer = await bob({ method, path: place, body: method === 'PUT' ? {} : undefined })
      t.equal(`${answer.status} ${answer.json.code}`, '403 access_denied', `${method} ${place}`)
    }
  }
})
