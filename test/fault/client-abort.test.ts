/** Clients that go away in the middle leave nothing: no object, no part, no body on the drive, no open file, no lock. */
import { randomInt } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import t, { type Test } from 'tap'
import { bytesOf } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer, workerCount } from '../wire/server.ts'

const Bucket = 'abort'
const server = await startServer()
t.teardown(() => server.remove())
const s3 = createClient(server, { requestChecksumCalculation: 'WHEN_REQUIRED' })
t.teardown(() => s3.destroy())
await s3.send(new CreateBucketCommand({ Bucket }))

/** Sends the head and some of the body of a PUT, and goes away: politely (FIN) or not (RST). */
async function abandon(
  url: string,
  headers: readonly string[],
  pieces: readonly Buffer[],
  reset: boolean,
): Promise<void> {
  const { host, port, pathname, search } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {
    // The server may close first; that is its right.
  })
  await new Promise(done => socket.once('connect', done))
  socket.write([`PUT ${pathname}${search} HTTP/1.1`, `host: ${host}`, ...headers, '', ''].join('\r\n'))
  for (const piece of pieces)
    if (!socket.write(piece)) await new Promise(done => socket.once('drain', done).once('close', done))
  await sleep(randomInt(30))
  if (reset) socket.resetAndDestroy()
  else socket.end()
  await new Promise(done => (socket.closed ? done(undefined) : socket.once('close', done).resume()))
}

function bodiesOnDrive(): string[] {
  return readdirSync(join(server.drive, 'blobs'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
}

async function settles(t: Test, what: string, value: () => readonly string[], limit: number): Promise<void> {
  let last = value()
  for (let attempt = 0; attempt < 900 && last.length > limit; attempt++) {
    await sleep(100)
    last = value()
  }
  t.ok(last.length <= limit, `${what}: ${last.length} of at most ${limit}`, { last })
}

/** Threads have these open, and come and go with the work: one for the digests of each thread that takes uploads. */
const ofThreads = ['pipe', 'anon_inode', '/dev/null']
const descriptorsOfThread = 12

/** What the server has open, by kind: `socket`, or the path. */
function openDescriptors(): string[] {
  const folder = `/proc/${server.pid}/fd`
  return readdirSync(folder).flatMap(name => {
    try {
      return [readlinkSync(join(folder, name)).replace(/:.*/, '')]
    } catch {
      // Closed in the meantime.
      return []
    }
  })
}

const openFiles = () => openDescriptors().filter(what => !ofThreads.includes(what))
const openByThreads = () => openDescriptors().filter(what => ofThreads.includes(what))

t.test('uploads that are cut off', async t => {
  await s3.send(new PutObjectCommand({ Bucket, Key: 'kept', Body: 'before' }))
  const [before, beforeByThreads] = [openFiles(), openByThreads()]
  const body = bytesOf('abort', 3 << 20)
  const aborts: Promise<void>[] = []
  for (let index = 0; index < 60; index++) {
    const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: index % 3 === 0 ? 'kept' : `cut/${index}` }))
    const length = index % 2 === 0 ? body.length : 90_000
    const sent = body.subarray(0, randomInt(length))
    aborts.push(abandon(url, [`content-length: ${length}`], [sent], index % 4 < 2))
  }
  for (let index = 0; index < 20; index++) {
    const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: `chunked/${index}` }))
    const headers = [
      'transfer-encoding: chunked',
      'content-encoding: aws-chunked',
      'x-amz-decoded-content-length: 2000000',
      'x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER',
      'x-amz-trailer: x-amz-checksum-crc32',
    ]
    const piece = Buffer.concat([Buffer.from('100000\r\n'), body.subarray(0, randomInt(1 << 20))])
    aborts.push(abandon(url, headers, [Buffer.from('200000\r\n'), piece], index % 2 === 0))
  }
  await Promise.all(aborts)

  await settles(t, 'bodies on the drive', bodiesOnDrive, 0)
  await settles(t, 'open files', openFiles, before.length + 4)
  const more = descriptorsOfThread * (workerCount + 1)
  await settles(t, 'what threads have open', openByThreads, beforeByThreads.length + more)
  const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }))
  t.same(
    Contents?.map(({ Key }) => Key),
    ['kept'],
  )
  const kept = await s3.send(new GetObjectCommand({ Bucket, Key: 'kept' }))
  t.equal(await kept.Body!.transformToString(), 'before', 'an object is not touched by a replacement that never came')
})

t.test('parts that are cut off', async t => {
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'parts' }))
  const body = bytesOf('part', 2 << 20)
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const url = await getSignedUrl(
        s3,
        new UploadPartCommand({ Bucket, Key: 'parts', UploadId, PartNumber: index + 1 }),
      )
      await abandon(
        url,
        [`content-length: ${body.length}`],
        [body.subarray(0, randomInt(body.length))],
        index % 2 === 0,
      )
    }),
  )
  await settles(t, 'bodies on the drive', bodiesOnDrive, 0)
  t.equal((await s3.send(new ListPartsCommand({ Bucket, Key: 'parts', UploadId }))).Parts, undefined)
  await s3.send(new UploadPartCommand({ Bucket, Key: 'parts', UploadId, PartNumber: 1, Body: body }))
  t.ok(bodiesOnDrive().length > 0, 'a part that did arrive lies on the drive')
  await s3.send(new AbortMultipartUploadCommand({ Bucket, Key: 'parts', UploadId }))
  await settles(t, 'bodies after the abort', bodiesOnDrive, 0)
  t.equal((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined)
})

t.test('downloads that are cut off', async t => {
  await s3.send(new PutObjectCommand({ Bucket, Key: 'large', Body: bytesOf('large', 16 << 20) }))
  const [before, beforeByThreads] = [openFiles(), openByThreads()]
  await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const { host, pathname, search } = new URL(await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'large' })))
      const socket = connect(server.port, '127.0.0.1')
      await new Promise(done => socket.once('connect', done))
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
      const first = await new Promise<Buffer>(done => socket.once('data', done))
      t.match(first.toString('latin1'), /^HTTP\/1\.1 200 /)
      // Most go away at once, some stop reading first, so that the server waits for them.
      socket.pause()
      await sleep(index % 3 === 0 ? 500 : 0)
      socket.destroy()
    }),
  )
  await settles(t, 'open files', openFiles, before.length + 4)
  await settles(t, 'what threads have open', openByThreads, beforeByThreads.length)
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'large' }))
  t.equal((await Body!.transformToByteArray()).length, 16 << 20, 'and others are served as before')
})
