import { responseProblems, startAdmin, testUsers, userSecret } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin({
  without: ['users'],
  plugins: [
    testUsers({
      writer: [
        { Effect: 'Allow', Action: 's3:PutBucketPublicAccessBlock', Resource: '*' },
        { Effect: 'Allow', Action: 's3:PutAccountPublicAccessBlock', Resource: '*' },
      ],
    }),
  ],
})
t.teardown(server.stop)
const { bucketPolicy, objectOwnership, objects, iam, policy } = server.kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })

async function call(id: string, body?: unknown, bucket = 'photos', ifMatch?: unknown, send = server.signed) {
  const operation = server.operations.find(other => other.id === id)!
  const path = `/api/v1${operation.path.replace('{bucket}', bucket)}`
  const headers: Record<string, string> = ifMatch === undefined ? {} : { 'if-match': String(ifMatch) }
  const answer = await send({ method: operation.method, path, body, headers })
  if (answer.status < 300) t.same(responseProblems(operation, answer.json), [], id)
  return { ...answer, outcome: `${answer.status} ${answer.json?.code ?? ''}`.trim() }
}

const block = { blockPublicAcls: true, ignorePublicAcls: true, blockPublicPolicy: true, restrictPublicBuckets: true }
const flags = ['BlockPublicAcls', 'IgnorePublicAcls', 'BlockPublicPolicy', 'RestrictPublicBuckets']
const open = {
  bucket: 'photos',
  enabled: false,
  flags: [] as string[],
  mode: 'reject',
  cluster: false,
  effective: false,
}
const statement = { Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }
const publicPolicy = JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', ...statement }] })

async function everybodyReads(): Promise<boolean> {
  await policy.prepare('photos')
  return policy.isAllowed({ identity: undefined, action: 's3:GetObject', bucket: 'photos', key: 'a' })
}

t.test('the block of a bucket is the four flags of S3, and applies to existing public rules', async t => {
  await bucketPolicy.replace('photos', publicPolicy)
  t.equal(await everybodyReads(), true)
  t.same((await call('getBucketBlockPublic')).json, open)

  const set = await call('setBucketBlockPublic', { enabled: true })
  t.same(set.json, { ...open, enabled: true, flags, effective: true })
  t.same(await objectOwnership.publicAccessBlock('photos'), block)
  t.equal(await everybodyReads(), false)
  t.equal((await call('putBucketPolicy', JSON.parse(publicPolicy))).outcome, '403 public_access_blocked')

  t.same((await call('setBucketBlockPublic', { enabled: false })).json, open)
  t.equal(await objectOwnership.publicAccessBlock('photos'), undefined)
  t.equal(await everybodyReads(), true)
})

t.test('three flags are no block of the bucket', async t => {
  for (const flag of Object.keys(block)) {
    await objectOwnership.setPublicAccessBlock('photos', { ...block, [flag]: false })
    const others = flags.filter(name => name.toLowerCase() !== flag.toLowerCase())
    t.same((await call('getBucketBlockPublic')).json, { ...open, flags: others }, flag)
  }
})

for (const [place, [get, set]] of Object.entries({
  bucket: ['getBucketBlockPublic', 'setBucketBlockPublic'],
  cluster: ['getBlockPublic', 'setBlockPublic'],
})) {
  t.test(`the block of a ${place} is not changed by who has read another`, async t => {
    const change = (body: object, ifMatch: unknown) => call(set, body, 'photos', ifMatch)
    await call(set, { enabled: false })
    const { etag } = (await call(get)).headers
    t.match(etag, /^"[0-9a-f]{32}"$/)
    const blocked = await call(set, { enabled: true })
    t.equal((await call(get)).headers.etag, blocked.headers.etag)
    t.not(blocked.headers.etag, etag)
    t.equal((await change({ enabled: false }, etag)).outcome, '412 precondition_failed')
    t.match((await call(get)).json, { enabled: true }, 'it stays')
    t.equal((await change({ enabled: false }, blocked.headers.etag)).outcome, '200')
    const present = (await call(get)).headers.etag
    const raced = await Promise.all([true, true, true].map(enabled => change({ enabled }, present)))
    t.same(raced.map(({ outcome }) => outcome).sort(), ['200', ...Array(2).fill('412 precondition_failed')])
    t.equal((await change({ enabled: false }, '*')).outcome, '200')
    const writer = server.signedBy('writer', userSecret)
    t.equal(
      (await call(set, { enabled: true }, 'photos', present, writer)).outcome,
      '403 access_denied',
      'the outcome would tell what there is',
    )
    t.equal((await call(set, { enabled: false }, 'photos', undefined, writer)).outcome, '200')
  })
}

t.test('a single flag makes another block; what was said and taken back makes none', async t => {
  const { etag } = (await call('getBucketBlockPublic')).headers
  await objectOwnership.setPublicAccessBlock('photos', { ...block, blockPublicAcls: false })
  t.equal((await call('setBucketBlockPublic', { enabled: false }, 'photos', etag)).outcome, '412 precondition_failed')
  await objectOwnership.setPublicAccessBlock('photos', undefined)
  t.equal((await call('setBucketBlockPublic', { enabled: false }, 'photos', etag)).outcome, '200')
})

t.test('what is not sent of the cluster stays', async t => {
  t.match((await call('setBlockPublic', { enabled: true, mode: 'ignore' })).json, { enabled: true, mode: 'ignore' })
  t.match((await call('setBlockPublic', { mode: 'reject' })).json, { enabled: true, mode: 'reject' })
  t.match((await call('setBlockPublic', { enabled: false })).json, { enabled: false, mode: 'reject' })
})

t.test('a mode, another type and a missing bucket are refused', async t => {
  for (const body of [{ enabled: true, mode: 'ignore' }, { enabled: 'yes' }, {}]) {
    t.equal((await call('setBucketBlockPublic', body)).outcome, '400 invalid_argument', JSON.stringify(body))
  }
  t.equal((await call('setBucketBlockPublic', { enabled: true }, 'no-such')).outcome, '404 bucket_not_found')
  t.equal((await call('getBucketBlockPublic', undefined, 'no-such')).outcome, '404 bucket_not_found')
})

t.test('the cluster', async t => {
  t.same((await call('getBlockPublic')).json, { ...open, bucket: '' })
  const blocked = await startAdmin({
    config: { 'object-ownership': { blockPublicAccess: true, blockPublicAccessMode: 'ignore' } },
  })
  t.teardown(blocked.stop)
  const { services } = blocked.kernel
  await services.objects.createBucket('photos', { region: 'us-east-1', owner: services.iam.owner })
  const get = (path: string) => blocked.signed({ method: 'GET', path: `/api/v1${path}` })
  const cluster = { mode: 'ignore', cluster: true, effective: true }
  t.same((await get('/access/block-public')).json, { bucket: '', enabled: true, flags: [], ...cluster })
  t.same((await get('/buckets/photos/block-public')).json, { bucket: 'photos', enabled: false, flags: [], ...cluster })
})
