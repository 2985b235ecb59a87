/**
 * What each operation needs, through the SDK: with everything allowed but the action that decides about it, it is refused; with
 * nothing but that action on that resource, it is served; with the action on another resource, it is refused again. The actions
 * below are those of AWS ("Actions, resources, and condition keys for Amazon S3"), written down a second time: an operation that
 * declares another one fails here, and so does an operation that nobody wrote down.
 */
import * as sdk from '@aws-sdk/client-s3'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import t from 'tap'
import { readDeclarations } from '../../docs/declarations.ts'
import type { Statement } from './admin.ts'
import { outcomeOf, type Place, type PlaceOptions, startRightsStage } from './rights.ts'
import { commandOf } from './sdk.ts'

t.setTimeout(240_000)
const { admin, root, user, makePlace, remove } = await startRightsStage()
t.teardown(remove)

interface Right extends PlaceOptions {
  readonly action: string
  /** The action for a version, where a request may name one. */
  readonly versioned?: string
  /** Everything that the command needs beside Bucket, Key and VersionId; made by root. */
  readonly input?: (place: Place, isVersion: boolean) => object | Promise<object>
  /** What the caller of a served request sees, where that is an error: `404 NoSuchConfiguration`. Default: `ok`. */
  readonly answer?: string
  /** Allowed, too, in each of the three cases: what AWS asks for beside the action that decides. */
  readonly beside?: (place: Place) => readonly Statement[]
  /** Sent otherwise than by a command of that name. Resolves as `outcomeOf` does. */
  readonly send?: (caller: sdk.S3Client, place: Place) => Promise<string>
}

const inAnHour = new Date(Date.now() + 3_600_000)
const TagSet = [{ Key: 'colour', Value: 'blue' }]
const rules = { Rules: [{ ID: 'old', Status: 'Enabled', Filter: { Prefix: 'tmp/' }, Expiration: { Days: 7 } }] }
const cors = { CORSRules: [{ AllowedMethods: ['GET'], AllowedOrigins: ['https://example.org'] }] }
const encryption = { Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }] }
const Id = () => ({ Id: 'some' })

async function upload({ Bucket, Key }: Place) {
  const { UploadId } = await root.send(new sdk.CreateMultipartUploadCommand({ Bucket, Key }))
  return { UploadId, PartNumber: 1 }
}

async function finishedUpload(place: Place) {
  const started = await upload(place)
  const { ETag } = await root.send(new sdk.UploadPartCommand({ ...place, ...started, Body: 'part' }))
  return { ...started, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }
}

async function policyOf({ Bucket }: Place) {
  const Statement = [
    { Effect: 'Deny', Principal: '*', Action: 's3:PutObjectAcl', Resource: `arn:aws:s3:::${Bucket}/*` },
  ]
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement })
  await root.send(new sdk.PutBucketPolicyCommand({ Bucket, Policy }))
  return { Policy }
}

const readSource = ({ Bucket }: Place) => [{ Action: 's3:GetObject', Resource: `arn:aws:s3:::${Bucket}/source` }]

async function source({ Bucket }: Place) {
  await root.send(new sdk.PutObjectCommand({ Bucket, Key: 'source', Body: 'source' }))
  return { CopySource: `${Bucket}/source` }
}

/** Deletes through the bulk operation, where each item has an answer of its own. */
const deleteObjects =
  (names: (place: Place) => sdk.ObjectIdentifier) =>
  async (caller: sdk.S3Client, place: Place): Promise<string> => {
    const Delete = { Objects: [names(place)] }
    const { Errors } = await caller.send(new sdk.DeleteObjectsCommand({ Bucket: place.Bucket, Delete }))
    return Errors === undefined ? 'ok' : `403 ${Errors[0]!.Code}`
  }

const rights: Readonly<Record<string, Right>> = {
  CreateBucket: { action: 's3:CreateBucket', bucket: 'missing' },
  DeleteBucket: { action: 's3:DeleteBucket', bucket: 'empty' },
  HeadBucket: { action: 's3:ListBucket' },
  ListObjects: { action: 's3:ListBucket' },
  ListObjectsV2: { action: 's3:ListBucket' },
  ListObjectVersions: { action: 's3:ListBucketVersions' },
  ListMultipartUploads: { action: 's3:ListBucketMultipartUploads' },
  GetBucketLocation: { action: 's3:GetBucketLocation' },
  GetBucketVersioning: { action: 's3:GetBucketVersioning' },
  PutBucketVersioning: {
    action: 's3:PutBucketVersioning',
    input: () => ({ VersioningConfiguration: { Status: 'Enabled' } }),
  },
  GetBucketPolicy: { action: 's3:GetBucketPolicy', input: policyOf },
  GetBucketPolicyStatus: { action: 's3:GetBucketPolicyStatus', input: policyOf },
  PutBucketPolicy: { action: 's3:PutBucketPolicy', input: policyOf },
  DeleteBucketPolicy: { action: 's3:DeleteBucketPolicy', input: policyOf },
  GetPublicAccessBlock: {
    action: 's3:GetBucketPublicAccessBlock',
    answer: '404 NoSuchPublicAccessBlockConfiguration',
  },
  PutPublicAccessBlock: {
    action: 's3:PutBucketPublicAccessBlock',
    input: () => ({ PublicAccessBlockConfiguration: { BlockPublicPolicy: true } }),
  },
  DeletePublicAccessBlock: { action: 's3:PutBucketPublicAccessBlock' },
  GetBucketTagging: { action: 's3:GetBucketTagging', answer: '404 NoSuchTagSet' },
  PutBucketTagging: { action: 's3:PutBucketTagging', input: () => ({ Tagging: { TagSet } }) },
  DeleteBucketTagging: { action: 's3:PutBucketTagging' },
  GetBucketCors: { action: 's3:GetBucketCORS', answer: '404 NoSuchCORSConfiguration' },
  PutBucketCors: { action: 's3:PutBucketCORS', input: () => ({ CORSConfiguration: cors }) },
  DeleteBucketCors: { action: 's3:PutBucketCORS' },
  GetBucketLifecycleConfiguration: {
    action: 's3:GetLifecycleConfiguration',
    answer: '404 NoSuchLifecycleConfiguration',
  },
  PutBucketLifecycleConfiguration: {
    action: 's3:PutLifecycleConfiguration',
    input: () => ({ LifecycleConfiguration: rules }),
  },
  DeleteBucketLifecycle: { action: 's3:PutLifecycleConfiguration' },
  GetBucketNotificationConfiguration: { action: 's3:GetBucketNotification' },
  PutBucketNotificationConfiguration: {
    action: 's3:PutBucketNotification',
    input: () => ({ NotificationConfiguration: {} }),
  },
  GetBucketEncryption: {
    action: 's3:GetEncryptionConfiguration',
    answer: '404 ServerSideEncryptionConfigurationNotFoundError',
  },
  PutBucketEncryption: {
    action: 's3:PutEncryptionConfiguration',
    input: () => ({ ServerSideEncryptionConfiguration: encryption }),
  },
  DeleteBucketEncryption: { action: 's3:PutEncryptionConfiguration' },
  GetObjectLockConfiguration: {
    action: 's3:GetBucketObjectLockConfiguration',
    answer: '404 ObjectLockConfigurationNotFoundError',
  },
  PutObjectLockConfiguration: {
    action: 's3:PutBucketObjectLockConfiguration',
    input: async ({ Bucket }) => {
      const VersioningConfiguration = { Status: 'Enabled' } as const
      await root.send(new sdk.PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
      return { ObjectLockConfiguration: { ObjectLockEnabled: 'Enabled' } }
    },
  },
  GetBucketAcl: { action: 's3:GetBucketAcl' },
  PutBucketAcl: { action: 's3:PutBucketAcl', input: () => ({ ACL: 'private' }) },
  GetBucketOwnershipControls: {
    action: 's3:GetBucketOwnershipControls',
    answer: '404 OwnershipControlsNotFoundError',
    input: async ({ Bucket }) => {
      await root.send(new sdk.DeleteBucketOwnershipControlsCommand({ Bucket }))
      return {}
    },
  },
  PutBucketOwnershipControls: {
    action: 's3:PutBucketOwnershipControls',
    input: () => ({ OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] } }),
  },
  DeleteBucketOwnershipControls: { action: 's3:PutBucketOwnershipControls' },
  GetBucketLogging: { action: 's3:GetBucketLogging' },
  PutBucketLogging: { action: 's3:PutBucketLogging', input: () => ({ BucketLoggingStatus: {} }) },
  GetBucketRequestPayment: { action: 's3:GetBucketRequestPayment' },
  PutBucketRequestPayment: {
    action: 's3:PutBucketRequestPayment',
    input: () => ({ RequestPaymentConfiguration: { Payer: 'BucketOwner' } }),
  },
  GetBucketAccelerateConfiguration: { action: 's3:GetAccelerateConfiguration' },
  PutBucketAccelerateConfiguration: {
    action: 's3:PutAccelerateConfiguration',
    input: () => ({ AccelerateConfiguration: { Status: 'Suspended' } }),
  },
  GetBucketWebsite: { action: 's3:GetBucketWebsite', answer: '404 NoSuchWebsiteConfiguration' },
  DeleteBucketWebsite: { action: 's3:DeleteBucketWebsite' },
  GetBucketReplication: {
    action: 's3:GetReplicationConfiguration',
    answer: '404 ReplicationConfigurationNotFoundError',
  },
  DeleteBucketReplication: { action: 's3:PutReplicationConfiguration' },
  ...namedConfiguration('Analytics', 's3:GetAnalyticsConfiguration', 's3:PutAnalyticsConfiguration'),
  ...namedConfiguration('Inventory', 's3:GetInventoryConfiguration', 's3:PutInventoryConfiguration'),
  ...namedConfiguration('Metrics', 's3:GetMetricsConfiguration', 's3:PutMetricsConfiguration'),
  ...namedConfiguration(
    'IntelligentTiering',
    's3:GetIntelligentTieringConfiguration',
    's3:PutIntelligentTieringConfiguration',
  ),

  GetObject: { action: 's3:GetObject', versioned: 's3:GetObjectVersion' },
  HeadObject: { action: 's3:GetObject', versioned: 's3:GetObjectVersion' },
  GetObjectAttributes: {
    action: 's3:GetObjectAttributes',
    versioned: 's3:GetObjectVersionAttributes',
    input: () => ({ ObjectAttributes: ['ObjectSize'] }),
  },
  // Not s3:GetObjectTorrent, which nothing knows here. Who may not list is not told what is missing.
  GetObjectTorrent: {
    action: 's3:GetObject',
    answer: '404 NoSuchKey',
    beside: ({ Bucket }) => [{ Action: 's3:ListBucket', Resource: `arn:aws:s3:::${Bucket}` }],
  },
  GetObjectAcl: { action: 's3:GetObjectAcl', versioned: 's3:GetObjectVersionAcl' },
  PutObjectAcl: {
    action: 's3:PutObjectAcl',
    versioned: 's3:PutObjectVersionAcl',
    input: () => ({ ACL: 'bucket-owner-full-control' }),
  },
  GetObjectTagging: { action: 's3:GetObjectTagging', versioned: 's3:GetObjectVersionTagging' },
  PutObjectTagging: {
    action: 's3:PutObjectTagging',
    versioned: 's3:PutObjectVersionTagging',
    input: () => ({ Tagging: { TagSet } }),
  },
  DeleteObjectTagging: { action: 's3:DeleteObjectTagging', versioned: 's3:DeleteObjectVersionTagging' },
  GetObjectRetention: {
    action: 's3:GetObjectRetention',
    versioned: 's3:GetObjectRetention',
    answer: '404 NoSuchObjectLockConfiguration',
  },
  PutObjectRetention: {
    action: 's3:PutObjectRetention',
    versioned: 's3:PutObjectRetention',
    input: () => ({ Retention: { Mode: 'GOVERNANCE', RetainUntilDate: inAnHour } }),
  },
  GetObjectLegalHold: {
    action: 's3:GetObjectLegalHold',
    versioned: 's3:GetObjectLegalHold',
    input: async ({ Bucket, Key, VersionId }) => {
      const LegalHold = { Status: 'ON' } as const
      await root.send(new sdk.PutObjectLegalHoldCommand({ Bucket, Key, VersionId, LegalHold }))
      return {}
    },
  },
  PutObjectLegalHold: {
    action: 's3:PutObjectLegalHold',
    versioned: 's3:PutObjectLegalHold',
    input: () => ({ LegalHold: { Status: 'ON' } }),
  },
  PutObject: { action: 's3:PutObject', input: () => ({ Body: 'new' }) },
  PostObject: {
    action: 's3:PutObject',
    async send(caller, { Bucket, Key }) {
      const { url, fields } = await createPresignedPost(caller, { Bucket, Key })
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) form.append(name, value)
      form.append('file', new Blob(['posted']))
      const answer = await fetch(url, { method: 'POST', body: form })
      return answer.ok ? 'ok' : `${answer.status} ${/<Code>(\w+)</.exec(await answer.text())?.[1]}`
    },
  },
  CopyObject: { action: 's3:PutObject', input: source, beside: readSource },
  RenameObject: {
    action: 's3:PutObject',
    isUnversioned: true,
    async input(place) {
      await source(place)
      return { RenameSource: 'source' }
    },
    beside: ({ Bucket }) => [
      { Action: ['s3:GetObject', 's3:DeleteObject'], Resource: `arn:aws:s3:::${Bucket}/source` },
    ],
  },
  DeleteObject: { action: 's3:DeleteObject', versioned: 's3:DeleteObjectVersion' },
  DeleteObjects: {
    action: 's3:DeleteObject',
    versioned: 's3:DeleteObjectVersion',
    send: deleteObjects(({ Key, VersionId }) => ({ Key, VersionId })),
  },
  UpdateObjectEncryption: {
    action: 's3:UpdateObjectEncryption',
    versioned: 's3:UpdateObjectEncryption',
    async input({ Bucket, Key }, isVersion) {
      const encrypted = { Bucket, Key, Body: 'sealed', ServerSideEncryption: 'aws:kms' } as const
      const { VersionId, SSEKMSKeyId } = await root.send(new sdk.PutObjectCommand(encrypted))
      return { ObjectEncryption: { SSEKMS: { KMSKeyArn: SSEKMSKeyId } }, ...(isVersion && { VersionId }) }
    },
  },
  CreateMultipartUpload: { action: 's3:PutObject' },
  UploadPart: { action: 's3:PutObject', input: async place => ({ ...(await upload(place)), Body: 'part' }) },
  UploadPartCopy: {
    action: 's3:PutObject',
    input: async place => ({ ...(await upload(place)), ...(await source(place)) }),
    beside: readSource,
  },
  CompleteMultipartUpload: { action: 's3:PutObject', input: finishedUpload },
  AbortMultipartUpload: { action: 's3:AbortMultipartUpload', input: upload },
  ListParts: { action: 's3:ListMultipartUploadParts', input: upload },
}

function namedConfiguration(kind: string, get: string, put: string): Record<string, Right> {
  const answer = '404 NoSuchConfiguration'
  return {
    [`ListBucket${kind}Configurations`]: { action: get },
    [`GetBucket${kind}Configuration`]: { action: get, input: Id, answer },
    [`DeleteBucket${kind}Configuration`]: { action: put, input: Id, answer },
  }
}

const { operations } = await readDeclarations()
/** A preflight is for everyone, and a listing of buckets has no refusal: below. */
const apart = new Set(['OptionsBucket', 'OptionsObject', 'ListBuckets'])
t.strictSame(
  operations.map(({ value }) => value.name).filter(name => !apart.has(name) && rights[name] === undefined),
  [],
  'the right that it takes is written down for every operation',
)

for (const { value: operation } of operations) {
  const { name, match } = operation
  const right = rights[name]
  if (right === undefined) continue
  const isOnObject = match.level === 'object' || name === 'PostObject' || name === 'DeleteObjects'
  const isHead = match.method === 'HEAD'

  t.test(name, async t => {
    t.strictSame(
      [operation.action, operation.versionedAction],
      [right.action, name === 'DeleteObjects' ? undefined : right.versioned],
      'declares the actions of AWS',
    )
    for (const isVersion of right.versioned === undefined ? [false] : [false, true]) {
      const action = isVersion ? right.versioned! : right.action
      const place = await makePlace({ ...right, isUnversioned: !isOnObject || right.isUnversioned })
      const { Bucket, Key } = place
      const VersionId = isVersion ? place.VersionId : undefined
      const aimed = { Bucket, Key, VersionId }
      const input = { ...aimed, ...(await right.input?.(place, isVersion)) }
      const attempt = (caller: sdk.S3Client) =>
        right.send === undefined ? outcomeOf(caller.send(commandOf(name, input))) : right.send(caller, aimed)
      const beside = right.beside?.(place) ?? []
      const resource = isOnObject ? `arn:aws:s3:::${Bucket}/${Key}` : `arn:aws:s3:::${Bucket}`
      // A key that begins the same, and the other level: neither is this resource.
      const others = isOnObject
        ? [`arn:aws:s3:::${Bucket}`, `arn:aws:s3:::${Bucket}/${Key}/`, `arn:aws:s3:::${Bucket}x/*`]
        : [`arn:aws:s3:::${Bucket}/*`, `arn:aws:s3:::${Bucket}x`]
      const refusal = isHead ? /^403 / : /^403 AccessDenied$/

      await admin.putPolicy(
        'least',
        { Action: '*', Resource: '*' },
        { Effect: 'Deny', Action: action, Resource: resource },
      )
      t.match(await attempt(user), refusal, `everything but ${action}`)
      await admin.putPolicy('least', { Action: action, Resource: others }, ...beside)
      t.match(await attempt(user), refusal, `${action} elsewhere`)
      await admin.putPolicy('least', { Action: action, Resource: resource }, ...beside)
      t.equal(await attempt(user), right.answer ?? 'ok', `nothing but ${action}`)
    }
  })
}
