/**
 * The sequences of calls of programs that bring their own storage drivers and run in clusters only: Velero's AWS plugin, kopia's
 * repository (with minio's library, as kopia has it) and the S3 driver of the Docker registry. Each was read from the driver's source
 * and is asserted where the driver depends on it.
 */
import { createHash } from 'node:crypto'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  GetObjectRetentionCommand,
  GetObjectTaggingCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  PutObjectRetentionCommand,
  paginateListObjectsV2,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Client } from 'minio'
import t from 'tap'
import { bytesOf, sha256 } from './clients.ts'
import { outcomeOf } from './rights.ts'
import { createClient } from './sdk.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

const server = await startServer()
const s3 = createClient(server)
t.teardown(async () => {
  s3.destroy()
  await server.remove()
})

t.test('Velero', async t => {
  const Bucket = 'velero'
  await s3.send(new CreateBucketCommand({ Bucket }))
  const commonPrefixes = async (Prefix: string) => {
    const found = []
    const pages = paginateListObjectsV2({ client: s3, pageSize: 2 }, { Bucket, Prefix, Delimiter: '/' })
    for await (const { CommonPrefixes = [] } of pages) found.push(...CommonPrefixes.map(one => one.Prefix))
    return found
  }
  t.strictSame(await commonPrefixes(''), [], 'a new location is empty and valid')
  const exists = (Key: string) => outcomeOf(s3.send(new HeadObjectCommand({ Bucket, Key })))

  const tarball = bytesOf('velero', 22_000_000)
  for (const name of ['daily-1', 'daily-2', 'daily-3', 'daily-3x', 'weekly']) {
    const metadata = `backups/${name}/velero-backup.json`
    t.equal(await exists(metadata), '404 NotFound', 'no backup of this name yet')
    for (const [Key, Body] of [
      [metadata, JSON.stringify({ metadata: { name } })],
      [`backups/${name}/${name}-logs.gz`, bytesOf(name, 40_000)],
      [`backups/${name}/${name}.tar.gz`, name === 'weekly' ? tarball : bytesOf(`${name}.tar`, 70_000)],
    ] as const) {
      const params = {
        Bucket,
        Key,
        Body,
        Tagging: `backup=${name}&owner=team%20a`,
        ChecksumAlgorithm: 'CRC32',
      } as const
      await new Upload({ client: s3, partSize: 5 << 20, params }).done()
    }
    t.equal(await exists(metadata), 'ok')
  }
  t.strictSame(await commonPrefixes(''), ['backups/'], 'the layout of the location')
  t.strictSame(
    await commonPrefixes('backups/'),
    ['backups/daily-1/', 'backups/daily-2/', 'backups/daily-3/', 'backups/daily-3x/', 'backups/weekly/'],
    'one directory for each backup, over pages',
  )
  const { TagSet } = await s3.send(new GetObjectTaggingCommand({ Bucket, Key: 'backups/weekly/weekly.tar.gz' }))
  t.strictSame(
    TagSet,
    [
      { Key: 'backup', Value: 'weekly' },
      { Key: 'owner', Value: 'team a' },
    ],
    'tags of an upload in parts',
  )
  const whole = await s3.send(
    new GetObjectCommand({ Bucket, Key: 'backups/weekly/weekly.tar.gz', ChecksumMode: 'ENABLED' }),
  )
  t.equal(whole.TagCount, 2)
  t.match(whole.ChecksumCRC32, /-5$/, 'the checksum of the checksums of five parts')
  t.equal(sha256(await whole.Body!.transformToByteArray()), sha256(tarball))

  const logs = new GetObjectCommand({ Bucket, Key: 'backups/weekly/weekly-logs.gz' })
  const url = await getSignedUrl(s3, logs, { expiresIn: 2 })
  t.equal(sha256(Buffer.from(await (await fetch(url)).arrayBuffer())), sha256(bytesOf('weekly', 40_000)))
  await sleep(3_000)
  const late = await fetch(url)
  t.equal(late.status, 403)
  t.match(await late.text(), /<Code>AccessDenied<\/Code><Message>Request has expired<\/Message>/)
  const missing = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'backups/weekly/none' }))
  const answer = await fetch(missing)
  t.strictSame([answer.status, /<Code>(\w+)/.exec(await answer.text())?.[1]], [404, 'NoSuchKey'])

  // Deleting daily-3 must leave daily-3x alone: the prefix ends with a slash.
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'backups/daily-3/' }))
  t.equal(Contents.length, 3)
  for (const { Key } of Contents) await s3.send(new DeleteObjectCommand({ Bucket, Key }))
  t.equal((await commonPrefixes('backups/')).length, 4)
  t.equal(await outcomeOf(s3.send(new DeleteObjectCommand({ Bucket, Key: Contents[0]!.Key }))), 'ok', 'and again')
  t.equal(
    await outcomeOf(s3.send(new GetObjectCommand({ Bucket, Key: 'backups/daily-3/velero-backup.json' }))),
    '404 NoSuchKey',
  )
})

t.test('kopia', async t => {
  const client = new Client({
    endPoint: '127.0.0.1',
    port: server.port,
    useSSL: false,
    accessKey,
    secretKey,
    region,
  })
  const bucket = 'kopia'
  t.equal(await client.bucketExists(bucket), false)
  await client.makeBucket(bucket, region, { ObjectLocking: true })
  t.equal(await client.bucketExists(bucket), true)
  const names = Array.from({ length: 300 }, (_, index) => `p${createHash('md5').update(`${index}`).digest('hex')}-s1`)
  const blob = (name: string) => bytesOf(name, 1_000 + (name.charCodeAt(1) % 16) * 9_000)
  const headers = { 'Content-Type': 'application/x-kopia' }
  for (let at = 0; at < names.length; at += 20) {
    const some = names.slice(at, at + 20)
    await Promise.all(
      some.map(name => client.putObject(bucket, `repo/${name}`, blob(name), blob(name).length, headers)),
    )
  }
  await client.putObject(bucket, 'repo/kopia.repository', '{}')
  await client.putObject(bucket, 'repository-of-another', '{}')

  const list = async (prefix: string) => {
    const found: { name?: string; size: number }[] = []
    for await (const one of client.listObjectsV2(bucket, prefix, true)) found.push(one)
    return found
  }
  const listed = await list('repo/p')
  t.strictSame(
    listed.map(({ name }) => name),
    names.map(name => `repo/${name}`).sort(),
    'by prefix, in order',
  )
  t.equal(listed[0]!.size, blob(listed[0]!.name!.slice(5)).length)
  t.equal((await list('repo/q')).length, 0)

  for (const name of names.slice(0, 20)) {
    const bytes = blob(name)
    const whole = await buffer(await client.getObject(bucket, `repo/${name}`))
    t.ok(whole.equals(bytes), name)
    for (const [offset, length] of [
      [0, 1],
      [100, 500],
      [bytes.length - 1, 1],
      [bytes.length - 10, 10],
      [bytes.length - 10, 1000],
    ] as const) {
      const part = await buffer(await client.getPartialObject(bucket, `repo/${name}`, offset, length))
      t.ok(part.equals(bytes.subarray(offset, offset + length)), `${name} from ${offset}, ${length} bytes`)
    }
  }
  const beyond = client.getPartialObject(bucket, `repo/${names[0]}`, 10_000_000, 1)
  await t.rejects(beyond, { code: 'InvalidRange' }, 'which kopia tells from a blob that is missing')
  await t.rejects(client.getObject(bucket, 'repo/none'), { code: 'NoSuchKey' })
  await t.rejects(client.statObject(bucket, 'repo/none'), { code: 'NotFound' })
  const { size, metaData } = await client.statObject(bucket, `repo/${names[0]}`)
  t.strictSame([size, metaData['content-type']], [blob(names[0]!).length, 'application/x-kopia'])

  // A blob is written once: who is late learns it, and the first one stays.
  const Key = `repo/${names[0]}`
  const twice = [1, 2].map(() =>
    outcomeOf(s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'repo/once', Body: 'once', IfNoneMatch: '*' }))),
  )
  const outcomes = (await Promise.all(twice)).sort()
  t.equal(outcomes[1], 'ok')
  t.match(outcomes[0]!, /^(412 PreconditionFailed|409 ConditionalRequestConflict)$/)
  t.equal(
    await outcomeOf(s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'other', IfNoneMatch: '*' }))),
    '412 PreconditionFailed',
  )

  // Retention: set with the blob, extended by maintenance, never shortened, and stronger than a delete of the version.
  const until = (hours: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000)
  const lock = { ObjectLockMode: 'COMPLIANCE', ObjectLockRetainUntilDate: new Date(Date.now() + 8_000) } as const
  const { VersionId } = await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'repo/kept', Body: 'kept', ...lock }))
  const Retention = { Mode: 'COMPLIANCE', RetainUntilDate: new Date(Date.now() + 9_000) } as const
  await s3.send(new PutObjectRetentionCommand({ Bucket: bucket, Key: 'repo/kept', VersionId, Retention }))
  const kept = await s3.send(new GetObjectRetentionCommand({ Bucket: bucket, Key: 'repo/kept' }))
  t.equal(kept.Retention!.RetainUntilDate!.getTime(), Retention.RetainUntilDate.getTime())
  const shorter = { Mode: 'COMPLIANCE', RetainUntilDate: lock.ObjectLockRetainUntilDate } as const
  for (const wrong of [shorter, { Mode: 'GOVERNANCE', RetainUntilDate: until(1) } as const]) {
    t.equal(
      await outcomeOf(
        s3.send(new PutObjectRetentionCommand({ Bucket: bucket, Key: 'repo/kept', VersionId, Retention: wrong })),
      ),
      '403 AccessDenied',
      `${wrong.Mode} for less`,
    )
  }
  const gone = { Bucket: bucket, Key: 'repo/kept', VersionId, BypassGovernanceRetention: true }
  t.equal(await outcomeOf(s3.send(new DeleteObjectCommand(gone))), '403 AccessDenied')
  await client.removeObject(bucket, 'repo/kept')
  t.equal((await list('repo/kept')).length, 0, 'a delete marker hides it')
  t.equal(
    await text(await client.getObject(bucket, 'repo/kept', { versionId: VersionId! })),
    'kept',
    'and it is still there',
  )
  await client.removeObject(bucket, 'repo/none')
  await client.removeObjects(
    bucket,
    listed.map(({ name }) => name!),
  )
  t.equal((await list('repo/p')).length, 0)
})

t.test('the Docker registry', async t => {
  const Bucket = 'registry'
  await s3.send(new CreateBucketCommand({ Bucket }))
  const repositories = 'docker/registry/v2/repositories'
  const given = { ACL: 'private', StorageClass: 'STANDARD', ContentType: 'application/octet-stream' } as const
  const layer = bytesOf('layer', 17_000_000)
  const uploadKey = `${repositories}/app/_uploads/7f1c/data`

  // A push: chunks of the client end where they end, so what is shorter than a part is held back, or read back and copied.
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: uploadKey, ...given }))
  const part = async (id: string, PartNumber: number, Body: Uint8Array) => {
    const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key: uploadKey, UploadId: id, PartNumber, Body }))
    return { ETag, PartNumber }
  }
  await part(UploadId!, 1, layer.subarray(0, 6 << 20))
  await part(UploadId!, 2, layer.subarray(6 << 20, 8 << 20))
  // The registry restarts: it finds the upload by its key alone, and its parts.
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: uploadKey }))
  t.match(Uploads, [{ Key: uploadKey, UploadId }])
  const { Parts = [] } = await s3.send(new ListPartsCommand({ Bucket, Key: uploadKey, UploadId }))
  t.strictSame(
    Parts.map(({ PartNumber, Size }) => [PartNumber, Size]),
    [
      [1, 6 << 20],
      [2, 2 << 20],
    ],
  )
  // The last part is too short to stay in the middle: complete, begin again, copy what is there as the first part, go on.
  const done = Parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag }))
  await s3.send(
    new CompleteMultipartUploadCommand({ Bucket, Key: uploadKey, UploadId, MultipartUpload: { Parts: done } }),
  )
  t.equal(
    await outcomeOf(s3.send(new ListPartsCommand({ Bucket, Key: uploadKey, UploadId }))),
    '404 NoSuchUpload',
    'the registry takes this as an upload that is complete',
  )
  const second = (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: uploadKey, ...given }))).UploadId!
  const copied = await s3.send(
    new UploadPartCopyCommand({
      Bucket,
      Key: uploadKey,
      UploadId: second,
      PartNumber: 1,
      CopySource: `${Bucket}/${uploadKey}`,
    }),
  )
  const rest = await part(second, 2, layer.subarray(8 << 20))
  const Tail = [{ PartNumber: 1, ETag: copied.CopyPartResult!.ETag }, rest]
  await s3.send(
    new CompleteMultipartUploadCommand({ Bucket, Key: uploadKey, UploadId: second, MultipartUpload: { Parts: Tail } }),
  )

  // The upload becomes a blob: large ones move by copies of ranges, then the old key goes.
  const digest = sha256(layer)
  const blobKey = `docker/registry/v2/blobs/sha256/${digest.slice(0, 2)}/${digest}/data`
  const { ContentLength = 0 } = await s3.send(new HeadObjectCommand({ Bucket, Key: uploadKey }))
  t.equal(ContentLength, layer.length)
  const move = (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: blobKey, ...given }))).UploadId!
  const step = 6 << 20
  const ranges = Array.from({ length: Math.ceil(ContentLength / step) }, (_, index) => index)
  const moved = await Promise.all(
    ranges.map(async index => {
      const last = Math.min((index + 1) * step, ContentLength) - 1
      const { CopyPartResult } = await s3.send(
        new UploadPartCopyCommand({
          Bucket,
          Key: blobKey,
          UploadId: move,
          PartNumber: index + 1,
          CopySource: `${Bucket}/${uploadKey}`,
          CopySourceRange: `bytes=${index * step}-${last}`,
        }),
      )
      return { PartNumber: index + 1, ETag: CopyPartResult!.ETag }
    }),
  )
  await s3.send(
    new CompleteMultipartUploadCommand({ Bucket, Key: blobKey, UploadId: move, MultipartUpload: { Parts: moved } }),
  )
  await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: uploadKey }], Quiet: false } }))
  t.equal(await outcomeOf(s3.send(new HeadObjectCommand({ Bucket, Key: uploadKey }))), '404 NotFound')

  // Pulls are redirected to presigned addresses, and resumed with ranges.
  const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: blobKey }), { expiresIn: 1200 })
  t.equal(sha256(Buffer.from(await (await fetch(url)).arrayBuffer())), digest)
  const resumed = await fetch(url, { headers: { range: 'bytes=16000000-' } })
  t.equal(resumed.status, 206)
  t.ok(Buffer.from(await resumed.arrayBuffer()).equals(layer.subarray(16_000_000)))
  const headUrl = await getSignedUrl(s3, new HeadObjectCommand({ Bucket, Key: blobKey }))
  t.equal((await fetch(headUrl, { method: 'HEAD' })).headers.get('content-length'), String(layer.length))

  // Small files: links and manifests, put, stat, moved by a copy.
  const link = `${repositories}/app/_layers/sha256/${digest}/link`
  await s3.send(new PutObjectCommand({ Bucket, Key: link, Body: `sha256:${digest}`, ...given }))
  const copy = new CopyObjectCommand({ Bucket, Key: `${link}2`, CopySource: encodeURI(`${Bucket}/${link}`), ...given })
  t.match(await s3.send(copy), { CopyObjectResult: { ETag: /^"[0-9a-f]{32}"$/ } })
  const stat = async (path: string) => {
    const { Contents = [], CommonPrefixes = [] } = await s3.send(
      new ListObjectsV2Command({ Bucket, Prefix: path, MaxKeys: 1 }),
    )
    const Key = Contents[0]?.Key
    return Key === undefined ? 'missing' : Key === path ? 'file' : `directory ${CommonPrefixes.length}`
  }
  t.strictSame(
    [await stat(link), await stat(repositories), await stat(`${repositories}/none`)],
    ['file', 'directory 0', 'missing'],
  )

  // Garbage collection walks everything, from where it stopped, and deletes a thousand at a time.
  const tags = Array.from({ length: 1100 }, (_, index) => `${repositories}/tags/${String(index).padStart(4, '0')}/link`)
  for (let at = 0; at < tags.length; at += 50) {
    await Promise.all(tags.slice(at, at + 50).map(Key => s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }))))
  }
  const walk = async (StartAfter: string) => {
    const found = []
    const pages = paginateListObjectsV2({ client: s3 }, { Bucket, Prefix: `${repositories}/tags/`, StartAfter })
    for await (const { Contents = [] } of pages) found.push(...Contents.map(({ Key }) => Key!))
    return found
  }
  t.strictSame(await walk(''), tags)
  t.strictSame(await walk(tags[1041]!), tags.slice(1042), 'the key itself is not walked again')
  t.strictSame(await walk(`${repositories}/tags/1042`), tags.slice(1042), 'nor need it be a key')
  for (const some of [tags.slice(0, 1000), tags.slice(1000)]) {
    const { Deleted = [], Errors } = await s3.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: some.map(Key => ({ Key })), Quiet: false } }),
    )
    t.strictSame([Deleted.length, Errors], [some.length, undefined])
  }
  t.strictSame(await walk(''), [])

  // The purge of uploads that nobody finished.
  const stale = (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: `${uploadKey}-stale` }))).UploadId
  await s3.send(new AbortMultipartUploadCommand({ Bucket, Key: `${uploadKey}-stale`, UploadId: stale }))
  t.equal((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined)
})
