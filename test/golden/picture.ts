/** Everything that clients see of a server: what a fixture's manifest holds, and what the test compares with it. */
import { createHash } from 'node:crypto'
import * as sdk from '@aws-sdk/client-s3'
import type { AdminClient } from '../wire/admin.ts'
import { commandOf } from '../wire/sdk.ts'
import { customerKey, member, service } from './shapes.ts'

/** As JSON holds it: no undefined, times as ISO strings. */
export type Picture = Readonly<Record<string, unknown>>

export const customer = {
  SSECustomerAlgorithm: 'AES256',
  SSECustomerKey: customerKey.toString('base64'),
  SSECustomerKeyMD5: createHash('md5').update(customerKey).digest('base64'),
}

/** The settings of a bucket by the operation that reads them. */
const bucketOperations = [
  'GetBucketLocation',
  'GetBucketVersioning',
  'GetBucketTagging',
  'GetBucketPolicy',
  'GetBucketLifecycleConfiguration',
  'GetBucketCors',
  'GetBucketEncryption',
  'GetBucketNotificationConfiguration',
  'GetBucketOwnershipControls',
  'GetPublicAccessBlock',
  'GetObjectLockConfiguration',
]

type Output = Record<string, unknown>

/** Sends a command by its name. A failure is its status and code. */
async function ask(s3: sdk.S3Client, operation: string, input: object): Promise<Output | string> {
  try {
    const { $metadata, ...output } = (await s3.send(commandOf(operation, input))) as unknown as Output
    return output
  } catch (error) {
    const { name, $metadata } = error as sdk.S3ServiceException
    return `${$metadata?.httpStatusCode} ${name}`
  }
}

/** The same where there may be nothing, however a release says so: null. */
async function askForSetting(s3: sdk.S3Client, operation: string, input: object): Promise<Output | string | null> {
  const answer = await ask(s3, operation, input)
  const isAbsent = typeof answer === 'string' && /^(404 |400 InvalidRequest$)/.test(answer)
  return isAbsent ? null : answer
}

async function pictureOfVersion(s3: sdk.S3Client, place: { Bucket: string; Key: string; VersionId?: string }) {
  const input = place.Key.startsWith('sse-c/') ? { ...place, ...customer } : place
  const read = await ask(s3, 'GetObject', { ...input, ChecksumMode: 'ENABLED' })
  if (typeof read === 'string') return read
  const { Body, ...head } = read
  const bytes = await (Body as { transformToByteArray(): Promise<Uint8Array> }).transformToByteArray()
  const range = await ask(s3, 'GetObject', { ...input, Range: 'bytes=-100' })
  const ofRange =
    typeof range === 'string'
      ? range
      : await (range.Body as { transformToString(e: string): Promise<string> }).transformToString('base64')
  return {
    head,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    range: ofRange,
    tags: await ask(s3, 'GetObjectTagging', place),
    retention: await askForSetting(s3, 'GetObjectRetention', place),
    legalHold: await askForSetting(s3, 'GetObjectLegalHold', place),
    attributes: await ask(s3, 'GetObjectAttributes', {
      ...input,
      ObjectAttributes: ['ETag', 'Checksum', 'ObjectParts', 'StorageClass', 'ObjectSize'],
    }),
  }
}

async function pictureOfBucket(s3: sdk.S3Client, admin: AdminClient, Bucket: string) {
  const settings: Output = {}
  for (const operation of bucketOperations) settings[operation] = await askForSetting(s3, operation, { Bucket })
  const { Versions = [], DeleteMarkers = [] } = await s3.send(new sdk.ListObjectVersionsCommand({ Bucket }))
  const versions: Output[] = []
  for (const listed of Versions) {
    const { Key, VersionId } = listed as { Key: string; VersionId: string }
    versions.push({ listed, ...Object(await pictureOfVersion(s3, { Bucket, Key, VersionId })) })
  }
  const { Contents = [] } = await s3.send(new sdk.ListObjectsV2Command({ Bucket, FetchOwner: true }))
  const { Uploads = [] } = await s3.send(new sdk.ListMultipartUploadsCommand({ Bucket }))
  const uploads: Output[] = []
  for (const upload of Uploads) {
    const { Key, UploadId } = upload
    uploads.push({ upload, parts: await ask(s3, 'ListParts', { Bucket, Key, UploadId }) })
  }
  const quota = await admin.call('GET', `/buckets/${Bucket}/quota`)
  return { settings, versions, DeleteMarkers, Contents, uploads, quota: quota.size }
}

/** What two people who are not root may do: by the rights of a user, and by the narrower ones of a key of that user. */
async function pictureOfRights(clientOf: (credentials: typeof member) => sdk.S3Client) {
  const rights: Output = {}
  for (const credentials of [member, service]) {
    const s3 = clientOf(credentials)
    const read = await ask(s3, 'GetObject', { Bucket: 'golden-plain', Key: 'small.txt' })
    rights[credentials.accessKeyId] = {
      GetObject: typeof read === 'string' ? read : 'ok',
      ListObjects: typeof (await ask(s3, 'ListObjectsV2', { Bucket: 'golden-plain' })) === 'string' ? 'refused' : 'ok',
      GetObjectOfAnotherBucket: await ask(s3, 'GetObject', { Bucket: 'golden-versions', Key: 'changed.txt' }),
      PutObject: await ask(s3, 'PutObject', { Bucket: 'golden-plain', Key: 'forbidden', Body: 'x' }),
    }
    s3.destroy()
  }
  return rights
}

export async function takePicture(
  clientOf: (credentials?: typeof member) => sdk.S3Client,
  admin: AdminClient,
): Promise<Picture> {
  const s3 = clientOf()
  const { Buckets = [] } = await s3.send(new sdk.ListBucketsCommand({}))
  const buckets: Output = {}
  for (const { Name } of Buckets) buckets[Name!] = await pictureOfBucket(s3, admin, Name!)
  s3.destroy()
  const users = await admin.call('GET', '/users')
  const keys = await admin.call('GET', `/access-keys?user=${member.accessKeyId}`)
  const policy = await admin.call('GET', '/policies/golden-reader')
  const groups = await admin.call('GET', '/groups')
  const target = await admin.call('GET', '/config/notify_webhook')
  const picture = {
    Buckets,
    buckets,
    users,
    keys,
    policy,
    groups,
    target,
    rights: await pictureOfRights(clientOf),
  }
  // When a key was used last is no part of what was stored.
  return JSON.parse(JSON.stringify(picture, (name, value) => (name === 'lastUsedAt' ? undefined : value)))
}

/** Where a picture lacks something of the manifest, as paths. A later release may say more of an object; it must say all of this. */
export function differences(found: unknown, wanted: unknown, path = ''): string[] {
  const isList = Array.isArray(wanted)
  if (wanted === null || typeof wanted !== 'object') {
    return found === wanted ? [] : [`${path}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`]
  }
  if (found === null || typeof found !== 'object' || Array.isArray(found) !== isList)
    return [`${path}: ${JSON.stringify(found)}`]
  if (isList && (found as unknown[]).length !== wanted.length)
    return [`${path}: ${(found as unknown[]).length} entries, not ${wanted.length}`]
  return Object.entries(wanted).flatMap(([name, value]) =>
    differences((found as Output)[name], value, `${path}/${name}`),
  )
}
