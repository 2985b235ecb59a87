/**
 * What needs several rights at once, through the SDK: without any single one it is refused, with all of them and nothing else it is
 * served. The rights are those of AWS ("Required permissions for Amazon S3 API operations").
 */
import * as sdk from '@aws-sdk/client-s3'
import t from 'tap'
import { outcomeOf, type Place, type PlaceOptions, startRightsStage } from './rights.ts'

const { admin, root, user, makePlace, remove } = await startRightsStage()
t.teardown(remove)

/** What needs several rights: each of them alone is missed, together they suffice. */
interface Combined extends PlaceOptions {
  /** Actions on the object, unless they say where. */
  readonly needs: (place: Place) => readonly (string | readonly [action: string, resource: string])[]
  readonly send: (caller: sdk.S3Client, place: Place) => Promise<unknown>
  /** Made by root before each attempt. */
  readonly prepare?: (place: Place) => Promise<unknown>
  readonly answer?: string
}

const inAnHour = new Date(Date.now() + 3_600_000)
const TagSet = [{ Key: 'colour', Value: 'blue' }]
const Tagging = 'colour=blue'
const lockUntil = { ObjectLockMode: 'GOVERNANCE', ObjectLockRetainUntilDate: inAnHour } as const
const governance = { Mode: 'GOVERNANCE', RetainUntilDate: inAnHour } as const
const onSource = ({ Bucket }: Place, ...actions: string[]) =>
  actions.map(action => [action, `arn:aws:s3:::${Bucket}/source`] as const)
const onBucket = ({ Bucket }: Place, ...actions: string[]) =>
  actions.map(action => [action, `arn:aws:s3:::${Bucket}`] as const)
/** The version of a tagged source. */
const versions = new Map<string, string>()
async function taggedSource({ Bucket }: Place) {
  const { VersionId } = await root.send(new sdk.PutObjectCommand({ Bucket, Key: 'source', Body: 'source', Tagging }))
  versions.set(Bucket, VersionId ?? 'null')
}
async function upload({ Bucket, Key }: Place) {
  const { UploadId } = await root.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key }))
  return UploadId!
}
const retain = ({ Bucket, Key, VersionId }: Place) =>
  root.send(new sdk.PutObjectRetentionCommand({ Bucket, Key, VersionId, Retention: governance }))
const sourceVersion = (Bucket: string) => `${Bucket}/source?versionId=${versions.get(Bucket)}`

const combined: Readonly<Record<string, Combined>> = {
  'an upload with tags': {
    needs: () => ['s3:PutObject', 's3:PutObjectTagging'],
    send: (caller, { Bucket, Key }) => caller.send(new sdk.PutObjectCommand({ Bucket, Key, Tagging })),
  },
  'an upload in parts with tags and locks': {
    needs: () => ['s3:PutObject', 's3:PutObjectTagging', 's3:PutObjectRetention', 's3:PutObjectLegalHold'],
    send: (caller, { Bucket, Key }) =>
      caller.send(
        new sdk.CreateMultipartUploadCommand({ Bucket, Key, Tagging, ...lockUntil, ObjectLockLegalHoldStatus: 'ON' }),
      ),
  },
  'an upload with retention': {
    needs: () => ['s3:PutObject', 's3:PutObjectRetention'],
    send: (caller, { Bucket, Key }) => caller.send(new sdk.PutObjectCommand({ Bucket, Key, ...lockUntil })),
  },
  'an upload under a legal hold': {
    needs: () => ['s3:PutObject', 's3:PutObjectLegalHold'],
    send: (caller, { Bucket, Key }) =>
      caller.send(new sdk.PutObjectCommand({ Bucket, Key, ObjectLockLegalHoldStatus: 'ON' })),
  },
  'a copy': {
    prepare: place => root.send(new sdk.PutObjectCommand({ Bucket: place.Bucket, Key: 'source', Body: 'source' })),
    needs: place => ['s3:PutObject', ...onSource(place, 's3:GetObject')],
    send: (caller, { Bucket, Key }) =>
      caller.send(new sdk.CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/source` })),
  },
  'a copy of what has tags': {
    prepare: taggedSource,
    needs: place => ['s3:PutObject', 's3:PutObjectTagging', ...onSource(place, 's3:GetObject', 's3:GetObjectTagging')],
    send: (caller, { Bucket, Key }) =>
      caller.send(new sdk.CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/source` })),
  },
  'a copy of a version that has tags': {
    prepare: taggedSource,
    needs: place => [
      's3:PutObject',
      's3:PutObjectTagging',
      ...onSource(place, 's3:GetObjectVersion', 's3:GetObjectVersionTagging'),
    ],
    send: (caller, { Bucket, Key }) =>
      caller.send(new sdk.CopyObjectCommand({ Bucket, Key, CopySource: sourceVersion(Bucket) })),
  },
  'a copy that leaves the tags behind': {
    prepare: taggedSource,
    needs: place => ['s3:PutObject', ...onSource(place, 's3:GetObject')],
    send: (caller, { Bucket, Key }) =>
      caller.send(
        new sdk.CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/source`, TaggingDirective: 'REPLACE' }),
      ),
  },
  'a part copied from a version': {
    prepare: taggedSource,
    needs: place => ['s3:PutObject', ...onSource(place, 's3:GetObjectVersion')],
    send: async (caller, place) =>
      caller.send(
        new sdk.UploadPartCopyCommand({
          Bucket: place.Bucket,
          Key: place.Key,
          UploadId: await upload(place),
          PartNumber: 1,
          CopySource: sourceVersion(place.Bucket),
        }),
      ),
  },
  'another name for an object': {
    isUnversioned: true,
    prepare: taggedSource,
    needs: place => [
      's3:PutObject',
      's3:PutObjectTagging',
      ...onSource(place, 's3:GetObject', 's3:GetObjectTagging', 's3:DeleteObject'),
    ],
    send: (caller, { Bucket, Key }) =>
      caller.send(new sdk.RenameObjectCommand({ Bucket, Key, RenameSource: 'source' })),
  },
  'a bucket with object lock': {
    bucket: 'missing',
    needs: place => onBucket(place, 's3:CreateBucket', 's3:PutBucketObjectLockConfiguration', 's3:PutBucketVersioning'),
    send: (caller, { Bucket }) =>
      caller.send(new sdk.CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true })),
  },
  'a bucket with tags': {
    bucket: 'missing',
    needs: place => onBucket(place, 's3:CreateBucket', 's3:PutBucketTagging'),
    send: (caller, { Bucket }) =>
      caller.send(new sdk.CreateBucketCommand({ Bucket, CreateBucketConfiguration: { Tags: TagSet } })),
  },
  'a version deleted in spite of its retention': {
    prepare: retain,
    needs: () => ['s3:DeleteObjectVersion', 's3:BypassGovernanceRetention'],
    send: (caller, place) => caller.send(new sdk.DeleteObjectCommand({ ...place, BypassGovernanceRetention: true })),
  },
  'versions deleted in spite of their retention': {
    prepare: retain,
    needs: () => ['s3:DeleteObjectVersion', 's3:BypassGovernanceRetention'],
    send: async (caller, { Bucket, Key, VersionId }) => {
      const Delete = { Objects: [{ Key, VersionId }] }
      const { Errors } = await caller.send(
        new sdk.DeleteObjectsCommand({ Bucket, Delete, BypassGovernanceRetention: true }),
      )
      if (Errors !== undefined) throw denied(Errors[0]!)
    },
  },
  'retention that is shortened': {
    prepare: retain,
    needs: () => ['s3:PutObjectRetention', 's3:BypassGovernanceRetention'],
    send: (caller, place) =>
      caller.send(
        new sdk.PutObjectRetentionCommand({
          ...place,
          Retention: { ...governance, RetainUntilDate: new Date(Date.now() + 60_000) },
          BypassGovernanceRetention: true,
        }),
      ),
  },
  'what is missing, for who may list': {
    needs: place => [['s3:GetObject', `arn:aws:s3:::${place.Bucket}/*`], ...onBucket(place, 's3:ListBucket')],
    send: (caller, { Bucket }) => caller.send(new sdk.GetObjectCommand({ Bucket, Key: 'missing' })),
    answer: '404 NoSuchKey',
  },
}

/** Errors of single items as the whole answer. */
function denied({ Code = '', Message = '' }: sdk._Error): Error {
  return new sdk.S3ServiceException({
    name: Code,
    message: Message,
    $fault: 'client',
    $metadata: { httpStatusCode: 403 },
  })
}

for (const [name, { needs, send, prepare, answer = 'ok', ...options }] of Object.entries(combined)) {
  t.test(`${name} needs every right`, async t => {
    const place = await makePlace(options)
    await prepare?.(place)
    const rows = needs(place)
    const statements = rows.map(row => {
      const [action, resource] = typeof row === 'string' ? [row, `arn:aws:s3:::${place.Bucket}/${place.Key}`] : row
      return { Action: action, Resource: resource }
    })
    for (const [index, missing] of statements.entries()) {
      await admin.putPolicy(
        'least',
        ...statements.toSpliced(index, 1, { ...missing, Resource: 'arn:aws:s3:::other/*' }),
      )
      t.equal(await outcomeOf(send(user, place)), '403 AccessDenied', `without ${missing.Action}`)
    }
    await admin.putPolicy('least', ...statements)
    t.equal(await outcomeOf(send(user, place)), answer, 'with all of them')
  })
}

t.test('the list of buckets has those that the caller may list', async t => {
  const first = await makePlace()
  await makePlace()
  const listed = async (caller: sdk.S3Client) => {
    const { Buckets = [] } = await caller.send(new sdk.ListBucketsCommand())
    return Buckets.map(({ Name }) => Name)
  }
  const all = await listed(root)
  t.ok(all.length > 2)
  await admin.putPolicy(
    'least',
    { Action: 's3:*', Resource: '*' },
    { Effect: 'Deny', Action: ['s3:ListBucket', 's3:ListAllMyBuckets'], Resource: '*' },
  )
  t.strictSame(await listed(user), [])
  await admin.putPolicy('least', { Action: 's3:ListBucket', Resource: `arn:aws:s3:::${first.Bucket}` })
  t.strictSame(await listed(user), [first.Bucket])
  await admin.putPolicy('least', { Action: 's3:ListAllMyBuckets', Resource: '*' })
  t.strictSame(await listed(user), all)
})
