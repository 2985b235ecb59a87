/**
 * kill -9 at random moments under mixed load. What was acknowledged is there, whole; what was not acknowledged is wholly
 * there or not at all; listings, uploads and usage agree with it. SEED repeats the choices of a run (not its timing),
 * ROUNDS its length.
 */
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import t from 'tap'
import { createClient } from '../wire/sdk.ts'
import { startServer } from '../wire/server.ts'
import { contentOf, createJournalOfAcks, type State, stateOf } from './journal-of-acks.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const roundCount = Number(process.env.ROUNDS ?? (process.env.CI ? 200 : 25))
const writerCount = 8
const keysPerWriter = 5
/** Around the limit below which a body lies in the journal (128 KiB), and around a block. */
const sizes = [0, 1, 100, 4096, 4097, 70_000, 131_072, 131_073, 400_000, 1_500_000]
const Bucket = 'crash'

/** mulberry32: small, seeded, good enough to choose. */
function createRandom(state: number): () => number {
  let next = state
  return () => {
    next = (next + 0x6d2b79f5) | 0
    let mixed = Math.imul(next ^ (next >>> 15), next | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = createRandom(seed)
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!

interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  /** ETags of acknowledged parts, by number. */
  readonly parts: Map<number, string>
  /** The client asked to complete or abort it. */
  ending: boolean
}

t.setTimeout(roundCount * 5000 + 120_000)
t.comment(`SEED=${seed} ROUNDS=${roundCount}`)
const server = await startServer()
t.teardown(() => server.remove())
const s3 = createClient(server)
t.teardown(() => s3.destroy())

const journal = createJournalOfAcks()
const uploads = new Map<string, OpenUpload>()
const source = contentOf(`source ${seed}`, 200_000)
const problems: string[] = []
let acknowledgedCount = 0
let unansweredCount = 0
let writeCount = 0

async function write(key: string, state: State, send: () => Promise<unknown>): Promise<void> {
  journal.ask(key, state)
  await send()
  journal.acknowledge(key, state)
  acknowledgedCount++
}

/** True where the server answered the request. */
function isAnswer(error: unknown): boolean {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode !== undefined
}

async function put(Key: string): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} ${++writeCount}`, pick(sizes))
  await write(Key, hash, () => s3.send(new PutObjectCommand({ Bucket, Key, Body: bytes })))
}

async function remove(Key: string): Promise<void> {
  await write(Key, undefined, () => s3.send(new DeleteObjectCommand({ Bucket, Key })))
}

async function copy(Key: string): Promise<void> {
  await write(Key, source.hash, () => s3.send(new CopyObjectCommand({ Bucket, Key, CopySource: `${Bucket}/source` })))
}

async function multipart(Key: string): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} ${++writeCount}`, (5 << 20) + pick(sizes) + 1)
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
  const upload: OpenUpload = { key: Key, uploadId: UploadId!, parts: new Map(), ending: false }
  uploads.set(upload.uploadId, upload)
  for (const [PartNumber, Body] of [[1, bytes.subarray(0, 5 << 20)] as const, [2, bytes.subarray(5 << 20)] as const]) {
    const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
    upload.parts.set(PartNumber, ETag!)
  }
  const Parts = [...upload.parts].map(([PartNumber, ETag]) => ({ PartNumber, ETag }))
  upload.ending = true
  await write(Key, hash, () =>
    s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } })),
  )
  uploads.delete(upload.uploadId)
}

async function read(Key: string): Promise<State> {
  try {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
    return stateOf(await Body!.transformToByteArray())
  } catch (error) {
    if ((error as Error).name === 'NoSuchKey') return undefined
    throw error
  }
}

/** One client, the only one that writes its keys: what it was told last is what it must read. */
async function writer(index: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const key = `${index}/${Math.floor(random() * keysPerWriter)}`
    const choice = random()
    try {
      if (choice < 0.6) await put(key)
      else if (choice < 0.72) await remove(key)
      else if (choice < 0.8) await copy(key)
      else if (choice < 0.84) await multipart(key)
      else {
        const seen = await read(key)
        if (!journal.possible(key).has(seen)) problems.push(`${key}: read ${seen ?? 'nothing'} before the crash`)
      }
    } catch (error) {
      // Without an answer: the crash. Nothing more can be sent in this round. An answer that is an error is a failure.
      if (isAnswer(error)) problems.push(`${key}: ${String(error)}`)
      else unansweredCount++
      return
    }
  }
}

async function verify(keys: readonly string[]): Promise<void> {
  const { certain, possible } = journal.present()
  const listed = new Map<string, number>()
  for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket })) {
    for (const { Key, Size } of page.Contents ?? []) listed.set(Key!, Size!)
  }
  for (const key of certain) if (!listed.has(key)) problems.push(`${key}: acknowledged, but not listed`)
  for (const key of listed.keys()) if (!possible.has(key)) problems.push(`${key}: listed, but never written or deleted`)
  const queue = [...keys]
  await Promise.all(
    Array.from({ length: writerCount }, async () => {
      for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
        const seen = await read(key)
        const problem = journal.settle(key, seen)
        if (problem !== undefined) problems.push(problem)
        const size = seen === undefined ? undefined : Number(seen.split(':')[0])
        if (listed.get(key) !== size) problems.push(`${key}: listed with ${listed.get(key)} bytes, read ${size}`)
      }
    }),
  )
}

/** Uploads that were open are open, with every acknowledged part; then they are aborted. */
async function verifyUploads(): Promise<void> {
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }))
  const open = new Set(Uploads.map(({ UploadId }) => UploadId!))
  for (const upload of uploads.values()) {
    const { key: Key, uploadId: UploadId } = upload
    if (!open.has(UploadId)) {
      if (!upload.ending) problems.push(`${Key}: upload ${UploadId} was acknowledged and is gone`)
      continue
    }
    const { Parts = [] } = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId }))
    const listed = new Map(Parts.map(({ PartNumber, ETag }) => [PartNumber!, ETag!]))
    for (const [number, etag] of upload.parts) {
      if (listed.get(number) !== etag)
        problems.push(`${Key}: part ${number} was acknowledged and is ${listed.get(number)}`)
    }
  }
  uploads.clear()
  for (const { Key, UploadId } of Uploads) await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
}

await s3.send(new CreateBucketCommand({ Bucket }))
await write('source', source.hash, () => s3.send(new PutObjectCommand({ Bucket, Key: 'source', Body: source.bytes })))

t.test(`${roundCount} crashes lose nothing that was acknowledged and tear nothing that was not`, async t => {
  for (let round = 0; round < roundCount && problems.length === 0; round++) {
    const crash = new AbortController()
    const load = Promise.all(Array.from({ length: writerCount }, (_, index) => writer(index, crash.signal)))
    await sleep(20 + random() * (round % 10 === 0 ? 1500 : 250))
    await server.kill()
    crash.abort()
    await load
    // Now and then the next crash comes while the server still replays what the last one left.
    if (random() < 0.15) {
      const start = server.start().catch(() => {
        // It was killed before it was ready, as intended.
      })
      await sleep(random() * 400)
      await server.kill()
      await start
    }
    await server.start()
    await verifyUploads()
    await verify(journal.keys())
  }
  t.same(problems, [], `SEED=${seed}`)
  t.ok(acknowledgedCount > roundCount, `${acknowledgedCount} writes were acknowledged`)
  t.ok(unansweredCount > 0, `${unansweredCount} writes were cut off: the crashes came while it was busy`)
})

t.test('after all of it the bucket can be emptied, and nothing is left on the drive', async t => {
  const { certain } = journal.present()
  const Objects = [...certain].map(Key => ({ Key }))
  await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  // Refused unless the counters of objects, versions and uploads are exactly zero.
  await s3.send(new DeleteBucketCommand({ Bucket }))
  t.equal(await server.stop(), 0)
  await server.start()
  let left: string[] = []
  for (let attempt = 0; attempt < 50; attempt++) {
    left = readdirSync(join(server.drive, 'blobs'), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => entry.name)
    if (left.length === 0) break
    await sleep(200)
  }
  t.same(left, [], 'bodies without a record are collected')
})
