/** A download gets to its end, with the bytes that it began with, also when its object is replaced or deleted meanwhile. */
import { globSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { readWindowMs } from 'svc/plugins/storage/api'
import t from 'tap'
import { bytesOf, sha256 } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'

const Bucket = 'replaced'
const partBytes = 5 << 20

/** Begins a download and reads nothing of it until `rest` is called. */
async function beginDownload(url: string): Promise<{ rest(): Promise<Buffer> }> {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    request(url, { agent: false }, resolve).on('error', reject).end()
  })
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  return {
    async rest() {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
  }
}

t.test('an overwritten object stays readable for running downloads', async t => {
  const server = await startServer()
  t.teardown(() => server.remove())
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket }))
  const blobCount = () => globSync('blobs/*/*', { cwd: server.drive }).length
  const urlOf = (Key: string) => getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }))

  const upload = async (Key: string, parts: number) => {
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    const bodies = Array.from({ length: parts }, (_, part) => bytesOf(`${Key}-${part}`, partBytes))
    const Parts = await Promise.all(
      bodies.map(async (Body, part) => {
        const sent = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: part + 1, Body }))
        return { PartNumber: part + 1, ETag: sent.ETag, ChecksumCRC32: sent.ChecksumCRC32 }
      }),
    )
    await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
    return sha256(Buffer.concat(bodies))
  }

  const expected = [await upload('overwritten', 8), await upload('deleted', 8)]
  const urls = await Promise.all(['overwritten', 'deleted'].map(urlOf))
  const downloads = await Promise.all([...urls, ...urls].map(beginDownload))
  await s3.send(new PutObjectCommand({ Bucket, Key: 'overwritten', Body: 'other' }))
  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'deleted' }))
  await sleep(readWindowMs + 1000)
  t.equal(blobCount(), 16, 'what is being read is still there')
  const received = await Promise.all(downloads.map(download => download.rest()))
  t.same(received.map(sha256), [...expected, ...expected])
  for (let tries = 0; tries < 900 && blobCount() > 0; tries++) await sleep(100)
  t.equal(blobCount(), 0, 'and goes when nobody reads it any more')

  // One writer replaces and deletes, readers never see anything but one of its versions, or that there is none.
  const versions = Array.from({ length: 4 }, (_, i) => bytesOf(`version ${i}`, 300_000 + i * 400_000))
  const hashes = new Set(versions.map(sha256))
  const url = await urlOf('busy')
  let isWriting = true
  const answers: Record<string, number> = {}
  const read = async () => {
    while (isWriting) {
      const response = await fetch(url)
      const body = Buffer.from(await response.arrayBuffer())
      const isRight = response.status === 200 ? hashes.has(sha256(body)) : response.status === 404
      const answer = `${response.status} ${isRight ? 'right' : 'wrong'}`
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  const readers = Array.from({ length: 8 }, read)
  for (let round = 0; round < 60; round++) {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'busy', Body: versions[round % 4] }))
    if (round % 3 === 2) await s3.send(new DeleteObjectCommand({ Bucket, Key: 'busy' }))
  }
  isWriting = false
  await Promise.all(readers)
  t.ok(answers['200 right']! > 50, 'readers got versions while they were replaced', { answers })
  t.same(
    Object.keys(answers).filter(answer => !/^(200|404) right$/.test(answer)),
    [],
    'and nothing else',
  )
})
