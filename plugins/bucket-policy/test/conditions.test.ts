/** Conditions of policies are about what an operation does, wherever the request names it: address, headers or body. */
import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLegalHoldCommand,
  PutObjectRetentionCommand,
  PutObjectTaggingCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { outcome, startServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const server = await startServer()
t.teardown(() => server.stop())
const { client: root, endpoint } = server
const accessKeyId = 'mallory'
const secretAccessKey = 'secret-of-mallory'
await server.kernel.services.users.createUser({
  accessKey: accessKeyId,
  secretKey: secretAccessKey,
  policyNames: ['readwrite'],
})
const user = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId, secretAccessKey },
})
t.teardown(() => user.destroy())

async function bucketWith(
  Bucket: string,
  versioned: boolean,
  statements: readonly Readonly<Record<string, unknown>>[],
  options: object = {},
): Promise<string> {
  await root.send(new CreateBucketCommand({ Bucket, ...options }))
  if (versioned) {
    const VersioningConfiguration = { Status: 'Enabled' } as const
    await root.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
  }
  if (statements.length === 0) return Bucket
  const Statement = statements.map(statement => ({ Effect: 'Deny', Principal: '*', ...statement }))
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement })
  await root.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  return Bucket
}

const put = async (Bucket: string, Key: string, Body: string, more: object = {}) =>
  (await root.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))).VersionId!

t.test('s3:VersionId is the version that is deleted or copied', async t => {
  const Bucket = await bucketWith('versions', true, [])
  const first = await put(Bucket, 'k', 'first')
  const second = await put(Bucket, 'k', 'second')
  const Statement = {
    Effect: 'Deny',
    Principal: '*',
    Action: ['s3:GetObjectVersion', 's3:DeleteObjectVersion'],
    Resource: `arn:aws:s3:::${Bucket}/*`,
    Condition: { StringEquals: { 's3:versionid': first } },
  }
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement })
  await root.send(new PutBucketPolicyCommand({ Bucket, Policy }))
  const copy = (versionId: string) =>
    outcome(user.send(new CopyObjectCommand({ Bucket, Key: 'c', CopySource: `${Bucket}/k?versionId=${versionId}` })))
  t.equal(await outcome(user.send(new GetObjectCommand({ Bucket, Key: 'k', VersionId: first }))), '403 AccessDenied')
  t.equal(await copy(first), '403 AccessDenied')
  t.equal(await copy(second), 'ok')
  const Objects = [first, second].map(VersionId => ({ Key: 'k', VersionId }))
  const deleted = await user.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  t.same(
    deleted.Errors?.map(({ VersionId, Code }) => [VersionId, Code]),
    [[first, 'AccessDenied']],
  )
  t.same(
    deleted.Deleted?.map(({ VersionId }) => VersionId),
    [second],
  )
})

t.test('a version that is put back over another is judged by the tags of both', async t => {
  const Bucket = await bucketWith('tagged', true, [
    {
      Action: 's3:PutObject',
      Resource: 'arn:aws:s3:::tagged/*',
      Condition: { StringEquals: { 's3:ExistingObjectTag/owner': 'victor' } },
    },
  ])
  const own = await put(Bucket, 't', 'own', { Tagging: 'owner=mallory' })
  await put(Bucket, 't', 'of victor', { Tagging: 'owner=victor' })
  t.equal(await outcome(user.send(new PutObjectCommand({ Bucket, Key: 't', Body: '' }))), '403 AccessDenied')
  const CopySource = `${Bucket}/t?versionId=${own}`
  t.equal(await outcome(user.send(new CopyObjectCommand({ Bucket, Key: 't', CopySource }))), '403 AccessDenied')
  t.equal(await outcome(user.send(new CopyObjectCommand({ Bucket, Key: 'new', CopySource }))), 'ok')
  t.equal(await outcome(root.send(new CopyObjectCommand({ Bucket, Key: 't', CopySource }))), 'ok', 'a restore')
})

t.test('locks and tags that a body asks for', async t => {
  const Resource = 'arn:aws:s3:::locked/*'
  const Bucket = await bucketWith(
    'locked',
    false,
    [
      {
        Action: 's3:PutObjectRetention',
        Resource,
        Condition: { NumericGreaterThan: { 's3:object-lock-remaining-retention-days': '10' } },
      },
      {
        Action: 's3:PutObjectLegalHold',
        Resource,
        Condition: { StringEquals: { 's3:object-lock-legal-hold': 'OFF' } },
      },
      {
        Action: 's3:PutObjectTagging',
        Resource,
        Condition: { StringEquals: { 's3:RequestObjectTag/class': 'secret' } },
      },
    ],
    { ObjectLockEnabledForBucket: true },
  )
  await put(Bucket, 'o', '')
  const retain = (days: number) => {
    const Retention = { Mode: 'GOVERNANCE', RetainUntilDate: new Date(Date.now() + days * 86_400_000) } as const
    return outcome(user.send(new PutObjectRetentionCommand({ Bucket, Key: 'o', Retention })))
  }
  const hold = (Status: 'ON' | 'OFF') =>
    outcome(user.send(new PutObjectLegalHoldCommand({ Bucket, Key: 'o', LegalHold: { Status } })))
  const tag = (Value: string) => {
    const Tagging = { TagSet: [{ Key: 'class', Value }] }
    return outcome(user.send(new PutObjectTaggingCommand({ Bucket, Key: 'o', Tagging })))
  }
  t.same([await retain(1), await retain(100)], ['ok', '403 AccessDenied'])
  t.same([await hold('ON'), await hold('OFF')], ['ok', '403 AccessDenied'])
  t.same([await tag('plain'), await tag('secret')], ['ok', '403 AccessDenied'])
})

t.test('names are compared in the form in which they are used', async t => {
  const composed = 'é'.normalize('NFC')
  const decomposed = 'é'.normalize('NFD')
  const Resource = 'arn:aws:s3:::names/*'
  const Bucket = await bucketWith('names', false, [
    { Action: 's3:GetObject', Resource: `arn:aws:s3:::names/${decomposed}/*` },
    {
      Action: 's3:ListBucket',
      Resource: 'arn:aws:s3:::names',
      Condition: { StringLike: { 's3:prefix': `${composed}*` } },
    },
    {
      Action: 's3:PutObject',
      Resource,
      Condition: { StringLike: { 's3:x-amz-copy-source': `names/${composed}*` } },
    },
    { Action: 's3:PutObject', Resource, Condition: { StringEquals: { 's3:x-amz-copy-source': 'names/a?b' } } },
  ])
  await put(Bucket, `${composed}/secret`, 'secret')
  await put(Bucket, 'a?b', 'question')
  for (const letter of [composed, decomposed]) {
    const copy = { Bucket, Key: 'c', CopySource: encodeURI(`${Bucket}/${letter}/secret`) }
    t.equal(await outcome(user.send(new ListObjectsV2Command({ Bucket, Prefix: `${letter}/` }))), '403 AccessDenied')
    t.equal(await outcome(user.send(new CopyObjectCommand(copy))), '403 AccessDenied')
    t.equal(
      await outcome(user.send(new GetObjectCommand({ Bucket, Key: `${letter}/secret` }))),
      '403 AccessDenied',
      'a resource that was typed in the other form',
    )
  }
  const CopySource = 'names/a?b'
  t.equal(await outcome(user.send(new CopyObjectCommand({ Bucket, Key: 'c', CopySource }))), '403 AccessDenied')
  t.equal(await outcome(user.send(new ListObjectsV2Command({ Bucket, Prefix: 'a' }))), 'ok')
})
