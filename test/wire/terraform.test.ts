/**
 * What Terraform's AWS provider asks for `aws_s3_bucket`, the resources around it and `aws_s3_object`: it creates, reads every
 * sub-resource that a bucket may have, and plans a change wherever an answer differs from what it wrote. So the answers are asserted
 * exactly, errors among them: it takes the 404 of each sub-resource as "none", and every other error as its own failure.
 */
import t from 'tap'
import { outcomeOf } from './rights.ts'
import { commandOf, createClient } from './sdk.ts'
import { region, startServer } from './server.ts'

const SVC_KMS_SECRET_KEY = `terraform:${Buffer.alloc(32, 7).toString('base64')}`
const server = await startServer({ environment: { SVC_KMS_SECRET_KEY } })
const s3 = createClient(server)
t.teardown(async () => {
  s3.destroy()
  await server.remove()
})

// biome-ignore lint/suspicious/noExplicitAny: of the output of any operation
const send = async (operation: string, input: object): Promise<any> => s3.send(commandOf(operation, input))

/** What came, without what every answer has; for an error its status and code. */
async function read(operation: string, input: object): Promise<unknown> {
  try {
    const { $metadata, ...said } = await send(operation, input)
    return said
  } catch (error) {
    return outcomeOf(Promise.reject(error))
  }
}

/** `resourceBucketRead`, and the reads of each resource of its own. */
async function refresh(Bucket: string) {
  return {
    head: await read('HeadBucket', { Bucket }),
    location: await read('GetBucketLocation', { Bucket }),
    policy: await read('GetBucketPolicy', { Bucket }),
    acl: await read('GetBucketAcl', { Bucket }),
    cors: await read('GetBucketCors', { Bucket }),
    website: await read('GetBucketWebsite', { Bucket }),
    versioning: await read('GetBucketVersioning', { Bucket }),
    accelerate: await read('GetBucketAccelerateConfiguration', { Bucket }),
    requestPayment: await read('GetBucketRequestPayment', { Bucket }),
    logging: await read('GetBucketLogging', { Bucket }),
    lifecycle: await read('GetBucketLifecycleConfiguration', { Bucket }),
    replication: await read('GetBucketReplication', { Bucket }),
    encryption: await read('GetBucketEncryption', { Bucket }),
    objectLock: await read('GetObjectLockConfiguration', { Bucket }),
    tagging: await read('GetBucketTagging', { Bucket }),
    publicAccessBlock: await read('GetPublicAccessBlock', { Bucket }),
    ownership: await read('GetBucketOwnershipControls', { Bucket }),
    notification: await read('GetBucketNotificationConfiguration', { Bucket }),
    analytics: await read('ListBucketAnalyticsConfigurations', { Bucket }),
    inventory: await read('ListBucketInventoryConfigurations', { Bucket }),
    metrics: await read('ListBucketMetricsConfigurations', { Bucket }),
    tiering: await read('ListBucketIntelligentTieringConfigurations', { Bucket }),
  }
}

/** A bucket of which nothing was said. */
const untouched = {
  head: { BucketRegion: region, AccessPointAlias: false },
  location: { LocationConstraint: undefined },
  policy: '404 NoSuchBucketPolicy',
  cors: '404 NoSuchCORSConfiguration',
  website: '404 NoSuchWebsiteConfiguration',
  versioning: {},
  accelerate: {},
  requestPayment: { Payer: 'BucketOwner' },
  logging: {},
  lifecycle: '404 NoSuchLifecycleConfiguration',
  replication: '404 ReplicationConfigurationNotFoundError',
  // The provider takes this code, and no other 404, as no default encryption.
  encryption: '404 ServerSideEncryptionConfigurationNotFoundError',
  objectLock: '404 ObjectLockConfigurationNotFoundError',
  tagging: '404 NoSuchTagSet',
  publicAccessBlock: '404 NoSuchPublicAccessBlockConfiguration',
  ownership: { OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] } },
  notification: {},
  analytics: { IsTruncated: false },
  inventory: { IsTruncated: false },
  metrics: { IsTruncated: false },
  tiering: { IsTruncated: false },
}

t.test('a bucket without settings, and a missing bucket', async t => {
  const Bucket = 'tf-plain'
  t.match(await read('CreateBucket', { Bucket }), { Location: `/${Bucket}` })
  const { acl, ...seen } = await refresh(Bucket)
  t.strictSame(JSON.parse(JSON.stringify(seen)), JSON.parse(JSON.stringify(untouched)))
  const { Owner, Grants } = acl as { Owner: { ID: string }; Grants: object[] }
  t.match(Owner.ID, /^[0-9a-f]{64}$/)
  t.match(Grants, [{ Grantee: { ID: Owner.ID, Type: 'CanonicalUser' }, Permission: 'FULL_CONTROL' }])
  t.equal(Grants.length, 1)
  t.equal(await read('GetBucketPolicyStatus', { Bucket }), '404 NoSuchBucketPolicy')

  // A resource whose bucket somebody removed leaves the state, if every read says so.
  const { head, ...gone } = await refresh('tf-nothing-here')
  t.equal(head, '404 NotFound')
  t.strictSame([...new Set(Object.values(gone))], ['404 NoSuchBucket'])
  t.strictSame(await read('DeleteBucket', { Bucket }), {})
  t.equal(await read('DeleteBucket', { Bucket }), '404 NoSuchBucket')
})

const lifecycle = (days: number) => ({
  Rules: [
    {
      ID: 'temporary',
      Status: 'Enabled' as const,
      Filter: { And: { Prefix: 'tmp/', Tags: [{ Key: 'keep', Value: 'no' }], ObjectSizeGreaterThan: 1024 } },
      Expiration: { Days: days },
    },
    {
      ID: 'old-versions',
      Status: 'Enabled' as const,
      Filter: { Prefix: '' },
      NoncurrentVersionExpiration: { NoncurrentDays: 30, NewerNoncurrentVersions: 3 },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
    },
    { ID: 'markers', Status: 'Disabled' as const, Filter: {}, Expiration: { ExpiredObjectDeleteMarker: true } },
  ],
})
const defaultEncryption = (SSEAlgorithm: string) => ({
  Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm }, BucketKeyEnabled: true }],
})
const minimumSize = 'all_storage_classes_128K'
const publicAccess = {
  BlockPublicAcls: true,
  BlockPublicPolicy: false,
  IgnorePublicAcls: true,
  RestrictPublicBuckets: false,
}
const ownership = { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' as const }] }
const policyOf = (Bucket: string, action: string) =>
  JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'Reading',
        Effect: 'Allow',
        Principal: { AWS: '*' },
        Action: [action],
        Resource: [`arn:aws:s3:::${Bucket}/public/*`],
        Condition: { Bool: { 'aws:SecureTransport': 'true' } },
      },
    ],
  })
const tags = (environment: string) => ({
  TagSet: [
    { Key: 'Environment', Value: environment },
    { Key: 'cost center', Value: 'a+b=c/ü' },
  ],
})

t.test('resources are created, read without a difference, updated and destroyed', async t => {
  const Bucket = 'tf-main'
  /** Each put as its resource does it, and what its read must then say. */
  async function apply(environment: string, days: number, action: string, algorithm: string) {
    const Tagging = tags(environment)
    const Policy = policyOf(Bucket, action)
    const ServerSideEncryptionConfiguration = defaultEncryption(algorithm)
    t.strictSame(await read('PutBucketEncryption', { Bucket, ServerSideEncryptionConfiguration }), {})
    const LifecycleConfiguration = lifecycle(days)
    t.strictSame(await read('PutBucketTagging', { Bucket, Tagging }), {})
    t.strictSame(
      await read('PutBucketLifecycleConfiguration', {
        Bucket,
        LifecycleConfiguration,
        TransitionDefaultMinimumObjectSize: minimumSize,
      }),
      { TransitionDefaultMinimumObjectSize: minimumSize },
    )
    t.strictSame(await read('PutBucketPolicy', { Bucket, Policy }), {})
    return {
      ...untouched,
      versioning: { Status: 'Enabled' },
      tagging: Tagging,
      lifecycle: { ...LifecycleConfiguration, TransitionDefaultMinimumObjectSize: minimumSize },
      publicAccessBlock: { PublicAccessBlockConfiguration: publicAccess },
      policy: { Policy },
      encryption: { ServerSideEncryptionConfiguration },
    }
  }
  async function planIsEmpty(expected: object, what: string) {
    const { acl, ...seen } = await refresh(Bucket)
    t.strictSame(JSON.parse(JSON.stringify(seen)), JSON.parse(JSON.stringify(expected)), what)
  }

  await send('CreateBucket', { Bucket, ObjectOwnership: 'BucketOwnerEnforced' })
  t.match(await read('CreateBucket', { Bucket }), { Location: `/${Bucket}` }, 'what exists is taken as it is')
  const VersioningConfiguration = { Status: 'Enabled' } as const
  t.strictSame(await read('PutBucketVersioning', { Bucket, VersioningConfiguration }), {})
  t.strictSame(await read('PutPublicAccessBlock', { Bucket, PublicAccessBlockConfiguration: publicAccess }), {})
  t.strictSame(await read('PutBucketOwnershipControls', { Bucket, OwnershipControls: ownership }), {})
  const created = await apply('test', 7, 's3:GetObject', 'AES256')
  await planIsEmpty(created, 'created')
  await planIsEmpty(created, 'and read again')
  t.strictSame(await read('GetBucketPolicyStatus', { Bucket }), { PolicyStatus: { IsPublic: true } })
  await planIsEmpty(await apply('production', 14, 's3:GetObjectVersion', 'aws:kms'), 'updated in place')

  // Destroyed in the order of their dependencies, each by its own call, each gone at once.
  t.strictSame(await read('DeleteBucketPolicy', { Bucket }), {})
  t.strictSame(await read('DeleteBucketEncryption', { Bucket }), {})
  t.strictSame(await read('DeleteBucketLifecycle', { Bucket }), {})
  t.strictSame(await read('DeleteBucketTagging', { Bucket }), {})
  t.strictSame(await read('DeletePublicAccessBlock', { Bucket }), {})
  t.strictSame(await read('DeleteBucketOwnershipControls', { Bucket }), {})
  t.strictSame(await read('PutBucketVersioning', { Bucket, VersioningConfiguration: { Status: 'Suspended' } }), {})
  const versioning = { Status: 'Suspended' }
  await planIsEmpty({ ...untouched, versioning, ownership: '404 OwnershipControlsNotFoundError' }, 'destroyed')
  for (const removal of [
    'DeleteBucketPolicy',
    'DeleteBucketEncryption',
    'DeleteBucketLifecycle',
    'DeleteBucketTagging',
    'DeletePublicAccessBlock',
  ]) {
    t.strictSame(await read(removal, { Bucket }), {}, 'and may be destroyed again')
  }
  t.strictSame(await read('DeleteBucket', { Bucket }), {})
  t.equal(await read('HeadBucket', { Bucket }), '404 NotFound')
})

t.test('objects, in a bucket with object lock', async t => {
  const Bucket = 'tf-vault'
  const Key = 'config/app ü.json'
  await send('CreateBucket', { Bucket, ObjectLockEnabledForBucket: true })
  const Rule = { DefaultRetention: { Mode: 'GOVERNANCE', Days: 1 } } as const
  const ObjectLockConfiguration = { ObjectLockEnabled: 'Enabled', Rule } as const
  t.strictSame(await read('PutObjectLockConfiguration', { Bucket, ObjectLockConfiguration }), {})
  t.strictSame(await read('GetObjectLockConfiguration', { Bucket }), { ObjectLockConfiguration })
  t.strictSame(await read('GetBucketVersioning', { Bucket }), { Status: 'Enabled' })
  t.equal(
    await read('PutBucketVersioning', { Bucket, VersioningConfiguration: { Status: 'Suspended' } }),
    '409 InvalidBucketState',
  )

  const put = await send('PutObject', {
    Bucket,
    Key,
    Body: '{"a":1}',
    ContentType: 'application/json',
    CacheControl: 'no-cache',
    Metadata: { origin: 'terraform' },
    Tagging: 'Environment=test&cost%20center=a%2Bb',
    StorageClass: 'STANDARD',
    ACL: 'private',
  })
  const head = await send('HeadObject', { Bucket, Key, ChecksumMode: 'ENABLED' })
  t.match(head, {
    ETag: put.ETag,
    VersionId: put.VersionId,
    ContentType: 'application/json',
    CacheControl: 'no-cache',
    ContentLength: 7,
    Metadata: { origin: 'terraform' },
    ChecksumCRC32: put.ChecksumCRC32,
    ObjectLockMode: 'GOVERNANCE',
  })
  t.match(put.ChecksumCRC32, /^[A-Za-z0-9+/]{6}==$/)
  t.equal(head.StorageClass, undefined, 'which the provider reads as STANDARD')
  t.match(await read('GetObjectTagging', { Bucket, Key }), {
    TagSet: [
      { Key: 'Environment', Value: 'test' },
      { Key: 'cost center', Value: 'a+b' },
    ],
  })
  await send('PutObjectTagging', { Bucket, Key, Tagging: { TagSet: [{ Key: 'only', Value: 'one' }] } })
  const tagged = await send('HeadObject', { Bucket, Key })
  t.strictSame([tagged.VersionId, tagged.ETag], [put.VersionId, put.ETag], 'tags change nothing else')
  const changed = await send('PutObject', { Bucket, Key, Body: '{"a":2}' })
  t.not(changed.VersionId, put.VersionId)

  // `force_destroy`: every version, whatever its retention, then the bucket.
  t.match(await read('DeleteBucket', { Bucket }), '409 BucketNotEmpty')
  const { Versions = [], DeleteMarkers } = await send('ListObjectVersions', { Bucket, Prefix: Key })
  t.strictSame(
    Versions.map((one: { VersionId: string }) => one.VersionId),
    [changed.VersionId, put.VersionId],
  )
  t.equal(DeleteMarkers, undefined)
  for (const { VersionId } of Versions) {
    t.equal(await read('DeleteObject', { Bucket, Key, VersionId }), '403 AccessDenied', 'is retained')
    await send('DeleteObject', { Bucket, Key, VersionId, BypassGovernanceRetention: true })
  }
  t.equal(await read('HeadObject', { Bucket, Key }), '404 NotFound')
  t.strictSame(
    await read('PutObjectLockConfiguration', { Bucket, ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled' } }),
    {},
  )
  t.strictSame(await read('GetObjectLockConfiguration', { Bucket }), {
    ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled' },
  })
  t.strictSame(await read('DeleteBucket', { Bucket }), {})
})
