/**
 * Makes the golden fixtures with the release that runs it: `node --conditions=svc-src test/golden/make.ts 0.1.0`. Each is a pair of files in
 * the folder of the release: an archive of stopped drives, and a manifest of all that clients saw of them. They are made once for a
 * release and never again: a later server has to open them as they are. Needs GNU tar.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as sdk from '@aws-sdk/client-s3'
import { createAdminClient } from '../wire/admin.ts'
import { bytesOf } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { customer, takePicture } from './picture.ts'
import { bucketNames, drivesOf, member, type Shape, service, shapes } from './shapes.ts'

const [release] = process.argv.slice(2)
if (release === undefined) throw new Error('Name the release: its folder is made in test/golden')
const target = join(import.meta.dirname, release)
if (existsSync(target)) throw new Error(`${target} exists: fixtures of a release are never made again`)

const [plain, versions, locked, settings] = bucketNames
const retainUntil = new Date('2099-12-31T00:00:00.000Z')
const partBytes = 5 * 1024 * 1024

/** Bytes that compress well but whose every 32 KiB differ from all others. */
function compressible(seed: string, size: number): Buffer {
  const block = bytesOf(seed, 56)
  const bytes = Buffer.alloc(size, block)
  for (let at = 0; at + 8 <= size; at += 32_768) bytes.writeBigUInt64BE(BigInt(at), at)
  return bytes
}

interface Made {
  readonly s3: sdk.S3Client
  /** The SHA-256 of each body by `bucket/key`, the last one where there are versions. */
  readonly hashes: Map<string, string>
}

async function put(
  { s3, hashes }: Made,
  Bucket: string,
  Key: string,
  Body: Buffer,
  more: Partial<sdk.PutObjectRequest> = {},
) {
  hashes.set(`${Bucket}/${Key}`, createHash('sha256').update(Body).digest('hex'))
  return s3.send(new sdk.PutObjectCommand({ Bucket, Key, Body, ...more }))
}

async function putInParts(
  { s3, hashes }: Made,
  Bucket: string,
  Key: string,
  bodies: readonly Buffer[],
  complete: boolean,
  more: object = {},
) {
  const ofParts = 'SSECustomerKey' in more ? more : {}
  const { UploadId } = await s3.send(
    new sdk.CreateMultipartUploadCommand({ Bucket, Key, ContentType: 'video/golden', ...more }),
  )
  const Parts: sdk.CompletedPart[] = []
  for (const [index, Body] of bodies.entries()) {
    const PartNumber = index + 1
    const { ETag, ChecksumCRC32 } = await s3.send(
      new sdk.UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body, ...ofParts }),
    )
    Parts.push({ ETag, PartNumber, ChecksumCRC32 })
  }
  if (!complete) return
  await s3.send(
    new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts }, ...ofParts }),
  )
  hashes.set(`${Bucket}/${Key}`, createHash('sha256').update(Buffer.concat(bodies)).digest('hex'))
}

async function fillPlain(made: Made, { encrypts }: Shape) {
  const { s3 } = made
  await s3.send(new sdk.CreateBucketCommand({ Bucket: plain }))
  await put(made, plain, 'empty', Buffer.alloc(0))
  await put(made, plain, 'small.txt', Buffer.from('hello from the past\n'), {
    ContentType: 'text/plain; charset=utf-8',
    CacheControl: 'max-age=60',
    ContentDisposition: 'attachment',
    ContentLanguage: 'de',
    Expires: new Date('2040-01-01T00:00:00.000Z'),
    Metadata: { mood: 'golden', 'second-word': 'a b c' },
    Tagging: 'a=1&b=two%20words',
  })
  await put(made, plain, 'ünïcödé/日本語 +&%20.txt', bytesOf('odd', 700))
  await put(made, plain, 'deep/inline.bin', bytesOf('inline', 6000), { ChecksumAlgorithm: 'SHA256' })
  await put(made, plain, 'deep/nearly-blob.bin', compressible('nearly', 128 * 1024 - 100), {
    ChecksumAlgorithm: 'CRC64NVME',
  })
  // What is encrypted does not compress.
  await put(made, plain, 'blob.bin', compressible('blob', encrypts ? 140_000 : 600_000), {
    ChecksumAlgorithm: 'CRC32C',
  })
  const parts = encrypts ? [60_000] : [partBytes, partBytes, 200_000]
  await putInParts(
    made,
    plain,
    'parts.bin',
    parts.map((size, part) => compressible(`part ${part}`, size)),
    true,
  )
  await putInParts(made, plain, 'in-progress.bin', [compressible('unfinished', 70_000)], false, {
    Metadata: { later: 'yes' },
  })
  await s3.send(new sdk.CopyObjectCommand({ Bucket: plain, Key: 'copy.bin', CopySource: `${plain}/blob.bin` }))
  await put(made, plain, 'overwritten', Buffer.from('first'))
  await put(made, plain, 'overwritten', Buffer.from('second'))
  await put(made, plain, 'deleted', Buffer.from('gone'))
  await s3.send(new sdk.DeleteObjectCommand({ Bucket: plain, Key: 'deleted' }))
  made.hashes.delete(`${plain}/deleted`)
}

async function fillVersions(made: Made) {
  const { s3 } = made
  await s3.send(new sdk.CreateBucketCommand({ Bucket: versions }))
  const Bucket = versions
  await put(made, Bucket, 'before.txt', Buffer.from('from before versions'))
  await s3.send(new sdk.PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  await put(made, Bucket, 'before.txt', Buffer.from('a version'))
  for (const round of [1, 2, 3])
    await put(made, Bucket, 'changed.txt', Buffer.from(`round ${round}`), { Tagging: `round=${round}` })
  await put(made, Bucket, 'marked.txt', Buffer.from('below a marker'))
  await s3.send(new sdk.DeleteObjectCommand({ Bucket, Key: 'marked.txt' }))
  made.hashes.delete(`${Bucket}/marked.txt`)
  await put(made, Bucket, 'large.bin', compressible('large version', 135_000))
  await put(made, Bucket, 'large.bin', compressible('larger version', 136_000))
  await s3.send(new sdk.PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Suspended' } }))
  await put(made, Bucket, 'changed.txt', Buffer.from('the null version'))
}

async function fillLocked(made: Made) {
  const { s3 } = made
  const Bucket = locked
  await s3.send(new sdk.CreateBucketCommand({ Bucket, ObjectLockEnabledForBucket: true }))
  await put(made, Bucket, 'compliance.txt', Buffer.from('stays'), {
    ObjectLockMode: 'COMPLIANCE',
    ObjectLockRetainUntilDate: retainUntil,
  })
  await put(made, Bucket, 'governance.bin', bytesOf('governance', 5000))
  const Retention = { Mode: 'GOVERNANCE', RetainUntilDate: retainUntil } as const
  await s3.send(new sdk.PutObjectRetentionCommand({ Bucket, Key: 'governance.bin', Retention }))
  await put(made, Bucket, 'held.txt', Buffer.from('held'), { ObjectLockLegalHoldStatus: 'ON' })
  const Rule = { DefaultRetention: { Mode: 'GOVERNANCE', Years: 50 } } as const
  const ObjectLockConfiguration = { ObjectLockEnabled: 'Enabled', Rule } as const
  await s3.send(new sdk.PutObjectLockConfigurationCommand({ Bucket, ObjectLockConfiguration }))
  await put(made, Bucket, 'by-default.txt', Buffer.from('held by the default of the bucket'))
}

async function fillSettings(made: Made, { encrypts }: Shape) {
  const { s3 } = made
  const Bucket = settings
  await s3.send(new sdk.CreateBucketCommand({ Bucket }))
  const Policy = JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'Public',
        Effect: 'Allow',
        Principal: '*',
        Action: 's3:GetObject',
        Resource: `arn:aws:s3:::${Bucket}/public/*`,
      },
    ],
  })
  await s3.send(new sdk.PutBucketPolicyCommand({ Bucket, Policy }))
  const Rules: sdk.LifecycleRule[] = [
    { ID: 'expire', Status: 'Enabled', Filter: { Prefix: 'expires/' }, Expiration: { Days: 3650 } },
    {
      ID: 'tagged',
      Status: 'Disabled',
      Filter: { And: { Prefix: 'x/', Tags: [{ Key: 'a', Value: 'b' }] } },
      Expiration: { Days: 1 },
    },
    {
      ID: 'abort',
      Status: 'Enabled',
      Filter: { Prefix: 'aborts/' },
      AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
    },
  ]
  await s3.send(new sdk.PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules } }))
  const CORSRules = [
    {
      ID: 'page',
      AllowedMethods: ['GET', 'PUT'],
      AllowedOrigins: ['https://*.example.com'],
      AllowedHeaders: ['*'],
      ExposeHeaders: ['ETag'],
      MaxAgeSeconds: 600,
    },
  ]
  await s3.send(new sdk.PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules } }))
  await s3.send(new sdk.PutBucketTaggingCommand({ Bucket, Tagging: { TagSet: [{ Key: 'cost', Value: 'none' }] } }))
  const ownership = { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' as const }] }
  await s3.send(new sdk.PutBucketOwnershipControlsCommand({ Bucket, OwnershipControls: ownership }))
  const block = {
    BlockPublicAcls: true,
    IgnorePublicAcls: true,
    BlockPublicPolicy: false,
    RestrictPublicBuckets: false,
  }
  await s3.send(new sdk.PutPublicAccessBlockCommand({ Bucket, PublicAccessBlockConfiguration: block }))
  const notification = {
    QueueConfigurations: [
      {
        Id: 'told',
        QueueArn: 'arn:svc:sqs:us-east-1:_:webhook',
        Events: ['s3:ObjectCreated:*' as const],
        Filter: { Key: { FilterRules: [{ Name: 'prefix' as const, Value: 'told/' }] } },
      },
    ],
  }
  await s3.send(new sdk.PutBucketNotificationConfigurationCommand({ Bucket, NotificationConfiguration: notification }))
  const encryption = { Rules: [{ ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' as const } }] }
  const set = s3.send(new sdk.PutBucketEncryptionCommand({ Bucket, ServerSideEncryptionConfiguration: encryption }))
  // Without a master key there is no default encryption.
  if (encrypts) await set
  else await assert.rejects(set)
  await put(made, Bucket, 'public/page.html', Buffer.from('<p>hello'), { ContentType: 'text/html' })
}

async function fillEncrypted(made: Made) {
  const kms = {
    ServerSideEncryption: 'aws:kms',
    SSEKMSKeyId: 'golden-letters',
    SSEKMSEncryptionContext: Buffer.from('{"a":"b"}').toString('base64'),
  } as const
  await put(made, plain, 'sse-s3/small', Buffer.from('sealed'), { ServerSideEncryption: 'AES256' })
  await put(made, plain, 'sse-kms/small', Buffer.from('sealed by a key of its own'), kms)
  await put(made, plain, 'sse-kms/blob', compressible('kms', 132_000), kms)
  await put(made, plain, 'sse-c/small', Buffer.from('sealed by a customer'), customer)
  await putInParts(made, plain, 'sse-c/parts', [bytesOf('customer part', 9000)], true, customer)
  await putInParts(made, plain, 'sse-s3/unfinished', [bytesOf('sealed part', 9000)], false, {
    ServerSideEncryption: 'AES256',
  })
}

async function make(shape: Shape): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-golden-'))
  const sink = createServer((_, response) => response.end())
  await new Promise<void>(done => sink.listen(0, '127.0.0.1', done))
  const server = await startServer({ drives: drivesOf(shape, folder), environment: shape.environment })
  try {
    let s3 = createClient(server)
    let admin = createAdminClient(server)
    const made = { s3, hashes: new Map<string, string>() }
    const endpoint = `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`
    await admin.call('PATCH', '/config/notify_webhook', { settings: { enable: 'on', endpoint } })
    if (shape.encrypts) await admin.call('POST', '/kms/keys', { id: 'golden-letters' })
    await fillPlain(made, shape)
    await fillVersions(made)
    await fillLocked(made)
    await fillSettings(made, shape)
    if (shape.encrypts) await fillEncrypted(made)
    await admin.call('PUT', `/buckets/${settings}/quota`, { type: 'hard', size: 10_000_000 })
    const resources = [`arn:aws:s3:::${plain}`, `arn:aws:s3:::${plain}/*`]
    await admin.putPolicy('golden-reader', { Action: ['s3:GetObject', 's3:ListBucket'], Resource: resources })
    await admin.call('POST', '/groups', { name: 'golden-group' })
    await admin.call('POST', '/users', {
      accessKey: member.accessKeyId,
      secretKey: member.secretAccessKey,
      policyNames: ['golden-reader'],
      groups: ['golden-group'],
      description: 'made by 0.1.0',
    })
    const onlyObjects = { Effect: 'Allow', Action: 's3:GetObject', Resource: `arn:aws:s3:::${plain}/*` }
    await admin.call('POST', '/access-keys', {
      user: member.accessKeyId,
      accessKey: service.accessKeyId,
      secretKey: service.secretAccessKey,
      name: 'golden key',
      policy: { Version: '2012-10-17', Statement: [onlyObjects] },
    })
    s3.destroy()
    assert.equal(await server.stop(), 0)
    await server.start()
    admin = createAdminClient(server)
    const picture = await takePicture(credentials => createClient(server, credentials && { credentials }), admin)
    s3 = createClient(server)
    for (const [path, hash] of made.hashes) {
      const [Bucket, ...key] = path.split('/')
      const Key = key.join('/')
      const { Body } = await s3.send(
        new sdk.GetObjectCommand({ Bucket, Key, ...(Key.startsWith('sse-c/') ? customer : {}) }),
      )
      assert.equal(
        createHash('sha256')
          .update(await Body!.transformToByteArray())
          .digest('hex'),
        hash,
        path,
      )
    }
    s3.destroy()
    assert.equal(await server.stop(), 0)
    const archive = join(target, `${shape.name}.tar.gz`)
    // Space that a drive keeps for itself and makes again when it is gone: incompressible bytes that nobody reads.
    const entries = readdirSync(folder).sort()
    execFileSync('tar', [
      '--create',
      '--sparse',
      '--hole-detection=raw',
      '--exclude=ballast',
      '--owner=0',
      '--group=0',
      '--file',
      archive.slice(0, -3),
      '--directory',
      folder,
      ...entries,
    ])
    execFileSync('gzip', ['-9n', archive.slice(0, -3)])
    writeFileSync(join(target, `${shape.name}.json`), `${JSON.stringify(picture, undefined, 1)}\n`)
  } finally {
    await server.remove()
    sink.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

mkdirSync(target)
for (const shape of shapes) await make(shape)
