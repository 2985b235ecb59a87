import { responseProblems, startAdmin } from 'svc/plugins/admin/testing'
import t from 'tap'

const server = await startAdmin()
t.teardown(server.stop)
const { bucketPolicy, objectOwnership, objects, iam, policy } = server.kernel.services
await objects.createBucket('photos', { region: 'us-east-1', owner: iam.owner })

async function call(id: string, body?: unknown, bucket = 'photos') {
  const operation = server.operations.find(other => other.id === id)!
  const path = `/api/v1${operation.path.replace('{bucket}', bucket)}`
  const answer = await server.signed({ method: operation.method, path, body })
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
