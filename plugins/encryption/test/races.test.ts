/** Operations that run at the same time as resealing: no acknowledged version may keep, or get back, a former key. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  RenameObjectCommand,
  UpdateObjectEncryptionCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { startServer, type TestServer } from 'svc/plugins/s3/testing'
import t from 'tap'

const masterKey = (name: string, byte: number) => `${name}:${Buffer.alloc(32, byte).toString('base64')}`
const Bucket = 'races'
const count = 60

const folder = await mkdtemp(join(tmpdir(), 'svc-races-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const start = (current: string, previous: string[] = []) =>
  startServer({
    drive: folder,
    config: { store: { masterKey: current }, kms: { secretKey: current, previousSecretKeys: previous } },
  })
const numbers = Array.from({ length: count }, (_, index) => index)

t.test('uploads that are completed during a reseal do not keep the former key', async t => {
  let server: TestServer = await start(masterKey('first', 1))
  const { client } = server
  const uploads = await Promise.all(
    numbers.map(async number => {
      // One upload each: resealing the same one twice tests nothing more.
      const key = { Bucket: `races-${number}`, Key: 'upload' }
      await client.send(new CreateBucketCommand({ Bucket: key.Bucket }))
      const begin = new CreateMultipartUploadCommand({ ...key, ServerSideEncryption: 'AES256' })
      const { UploadId } = await client.send(begin)
      const part = await client.send(new UploadPartCommand({ ...key, UploadId, PartNumber: 1, Body: key.Bucket }))
      return { ...key, UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag: part.ETag }] } }
    }),
  )
  await server.stop()
  server = await start(masterKey('second', 2), [masterKey('first', 1)])
  const { encryption } = server.kernel.services
  for (const [number, upload] of uploads.entries()) {
    const completed = server.client.send(new CompleteMultipartUploadCommand(upload))
    await sleep(number % 5)
    t.match(await encryption.reseal(upload.Bucket), { failed: 0 })
    await completed
  }
  await server.stop()
  server = await start(masterKey('second', 2))
  t.teardown(() => server.stop())
  for (const { Bucket, Key } of uploads) {
    const { Body } = await server.client.send(new GetObjectCommand({ Bucket, Key }))
    t.equal(await Body!.transformToString(), Bucket)
  }
})

t.test('a rename does not bring back the key that an object had before', async t => {
  const server = await start(masterKey('second', 2))
  t.teardown(() => server.stop())
  const { client } = server
  await client.send(new CreateBucketCommand({ Bucket }))
  for (const id of ['from', 'to']) await server.kernel.services.kms.createKey(id)
  let changedCount = 0
  for (const number of numbers) {
    const [before, after] = [`before-${number}`, `after-${number}`]
    const requested = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'from' } as const
    await client.send(new PutObjectCommand({ Bucket, Key: before, Body: 'x', ...requested }))
    const change = new UpdateObjectEncryptionCommand({
      Bucket,
      Key: before,
      ObjectEncryption: { SSEKMS: { KMSKeyArn: 'arn:aws:kms:us-east-1:1:key/to' } },
    })
    const [changed, renamed] = await Promise.allSettled([
      client.send(change),
      // Sometimes one operation runs first, and sometimes the other.
      sleep(number % 6).then(() => client.send(new RenameObjectCommand({ Bucket, Key: after, RenameSource: before }))),
    ])
    const Key = renamed.status === 'fulfilled' ? after : before
    const { SSEKMSKeyId } = await client.send(new HeadObjectCommand({ Bucket, Key }))
    if (changed.status === 'fulfilled') changedCount++
    t.equal(SSEKMSKeyId, changed.status === 'fulfilled' ? 'to' : 'from', `${renamed.status}, ${changed.status}`)
  }
  t.ok(changedCount > 0, `${changedCount} changes were acknowledged`)
})
