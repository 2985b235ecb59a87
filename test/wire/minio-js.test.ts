/** The `minio` client for JavaScript: another signer, another multipart upload, other habits. */
import { createReadStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type BucketItem, Client } from 'minio'
import t from 'tap'
import { bytesOf, oddNames, sha256 } from './clients.ts'
import { accessKey, region, secretKey, startServer } from './server.ts'

const server = await startServer()
t.teardown(() => server.remove())
const client = new Client({ endPoint: '127.0.0.1', port: server.port, useSSL: false, accessKey, secretKey, region })
const bucket = 'minio-js'

async function namesIn(prefix: string, recursive: boolean): Promise<string[]> {
  const items = (await client.listObjectsV2(bucket, prefix, recursive).toArray()) as BucketItem[]
  return items.map(item => item.name ?? item.prefix ?? '')
}

t.test('buckets', async t => {
  await client.makeBucket(bucket, region)
  t.equal(await client.bucketExists(bucket), true)
  t.equal(await client.bucketExists('no-such-bucket-here'), false)
  t.ok((await client.listBuckets()).some(({ name }) => name === bucket))
  await client.makeBucket(bucket, region)
  const anywhere = new Client({ endPoint: '127.0.0.1', port: server.port, useSSL: false, accessKey, secretKey })
  await anywhere.putObject(bucket, 'region asked', 'without a region the client asks for the location first')
  t.equal((await anywhere.statObject(bucket, 'region asked')).size, 55)
})

t.test('objects', async t => {
  for (const name of oddNames) {
    const bytes = bytesOf(name, 1000)
    await client.putObject(bucket, name, bytes, bytes.length, { 'Content-Type': 'text/odd', 'X-Amz-Meta-Note': 'yes' })
    t.same(await buffer(await client.getObject(bucket, name)), bytes, name)
    t.match((await client.statObject(bucket, name)).metaData, { 'content-type': 'text/odd', note: 'yes' })
  }
  const middle = await client.getPartialObject(bucket, 'plain.txt', 10, 20)
  t.same(await buffer(middle), bytesOf('plain.txt', 1000).subarray(10, 30))
  await t.rejects(client.getObject(bucket, 'nothing'), { code: 'NoSuchKey' })
})

t.test('requests that only clients of MinIO send', async t => {
  const versionId = '6d1a4cb0-2a2f-4c34-9d35-63ad2a2a9a2c'
  const unknown = { code: 'NoSuchVersion' }
  await t.rejects(client.getObject(bucket, 'plain.txt', { versionId }), unknown, 'data that moved here had such ids')
  const events = client.listenBucketNotification(bucket, '', '', ['s3:ObjectCreated:*'])
  const error = await new Promise<unknown>(resolve => events.once('error', resolve))
  events.stop()
  t.match(error, { code: 'NotImplemented' }, 'instead of silence')
  await client.putObject(bucket, 'forced/a', 'a')
  // As a prefix it would take everything below with it.
  await t.rejects(client.removeObject(bucket, 'forced', { forceDelete: true }), { code: 'NotImplemented' })
  t.equal((await client.statObject(bucket, 'forced/a')).size, 1)
})

t.test('a file of 70 MB goes in parts and comes back whole', async t => {
  const file = join(server.folder, 'large.bin')
  const bytes = bytesOf('minio-js', 70_000_000)
  writeFileSync(file, bytes)
  const put = await client.fPutObject(bucket, 'large.bin', file, {})
  t.match(put.etag, /-2$/, 'two parts of 64 MiB at most')
  await client.fGetObject(bucket, 'large.bin', `${file}.back`)
  t.equal(sha256(readFileSync(`${file}.back`)), sha256(bytes))
  await client.putObject(bucket, 'stream.bin', createReadStream(file, { end: 9_999_999 }))
  t.equal((await client.statObject(bucket, 'stream.bin')).size, 10_000_000, 'a stream of unknown length')
})

t.test('listings, flat and by folder', async t => {
  const names = [...oddNames].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const all = await namesIn('', true)
  t.same(
    all.filter(name => oddNames.includes(name)),
    names,
  )
  t.ok((await namesIn('', false)).includes('deep/'))
  t.same(await namesIn('deep/er/', false), ['deep/er/and/'])
})

t.test('copies and compositions on the server', async t => {
  await client.copyObject(bucket, 'copy', `/${bucket}/large.bin`)
  t.equal((await client.statObject(bucket, 'copy')).size, 70_000_000)
})

t.test('presigned addresses', async t => {
  const put = await client.presignedPutObject(bucket, 'by url', 60)
  t.equal((await fetch(put, { method: 'PUT', body: 'by url' })).status, 200)
  const get = await client.presignedGetObject(bucket, 'by url', 60)
  t.equal(await (await fetch(get)).text(), 'by url')
  t.equal((await fetch(`${get}&more=1`)).status, 403, 'nothing may be added')
})

t.test('incomplete uploads are found and removed', async t => {
  await client.initiateNewMultipartUpload(bucket, 'half', {})
  const open = await client.listIncompleteUploads(bucket, '', true).toArray()
  t.same(
    open.map(upload => upload.key),
    ['half'],
  )
  await client.removeIncompleteUpload(bucket, 'half')
  t.same(await client.listIncompleteUploads(bucket, '', true).toArray(), [])
})

t.test('removal', async t => {
  await t.rejects(client.removeBucket(bucket), { code: 'BucketNotEmpty' })
  await client.removeObjects(bucket, await namesIn('', true))
  await client.removeBucket(bucket)
  t.equal(await client.bucketExists(bucket), false)
})
