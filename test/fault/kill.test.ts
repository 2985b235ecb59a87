/**
 * kill -9 at random moments under mixed load. What was acknowledged is there, whole; what was not acknowledged is wholly
 * there or not at all; listings, uploads and usage agree with it. SEED repeats the choices of a run (not its timing),
 * ROUNDS its length.
 */
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startServer } from '../wire/server.ts'
import { createSignedClient } from '../wire/signed-client.ts'
import { contentOf, createJournalOfAcks, type State, stateOf } from './journal-of-acks.ts'
import { AnswerError, createOperations } from './operations.ts'

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const roundCount = Number(process.env.ROUNDS ?? (process.env.CI ? 200 : 20))
/** A slow machine makes fewer rounds, unless their number was asked for. */
const loadMsMax = process.env.ROUNDS === undefined ? 900_000 : Number.POSITIVE_INFINITY
const roundCountMin = Math.min(roundCount, 10)
/** Every so many rounds all keys are read again, not only those that were written since. */
const fullRoundInterval = 10
const writerCount = 8
const keysPerWriter = 8
/** Around the limit below which a body lies in the journal (128 KiB), and around a block. */
const sizes = [0, 1, 100, 4096, 4097, 70_000, 131_072, 131_073, 400_000, 1_500_000]

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
  /** The client asked to complete it. */
  ending: boolean
}

t.setTimeout(process.env.ROUNDS === undefined ? 1_150_000 : roundCount * 20_000 + 120_000)
t.comment(`SEED=${seed} ROUNDS=${roundCount}`)
const server = await startServer()
t.teardown(() => server.remove())
const client = createSignedClient(server.port)
t.teardown(() => client.disconnect())
const s3 = createOperations(client, 'crash')

const journal = createJournalOfAcks()
const uploads = new Map<string, OpenUpload>()
const touched = new Set<string>()
const source = contentOf(`source ${seed}`, 200_000)
const problems: string[] = []
let acknowledgedCount = 0
let unansweredCount = 0
let writeCount = 0

async function write(key: string, state: State, send: () => Promise<unknown>): Promise<void> {
  touched.add(key)
  journal.ask(key, state)
  await send()
  journal.acknowledge(key, state)
  acknowledgedCount++
}

async function put(key: string): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} ${++writeCount}`, pick(sizes))
  await write(key, hash, () => s3.put(key, bytes))
}

async function multipart(key: string): Promise<void> {
  const { bytes, hash } = contentOf(`${seed} ${++writeCount}`, (5 << 20) + pick(sizes) + 1)
  const uploadId = await s3.createUpload(key)
  const upload: OpenUpload = { key, uploadId, parts: new Map(), ending: false }
  uploads.set(uploadId, upload)
  upload.parts.set(1, await s3.putPart(key, uploadId, 1, bytes.subarray(0, 5 << 20)))
  upload.parts.set(2, await s3.putPart(key, uploadId, 2, bytes.subarray(5 << 20)))
  upload.ending = true
  await write(key, hash, () => s3.complete(key, uploadId, upload.parts))
  uploads.delete(uploadId)
}

async function read(key: string): Promise<State> {
  const bytes = await s3.get(key)
  return bytes === undefined ? undefined : stateOf(bytes)
}

/** One client, the only one that writes its keys: what it was told last is what it must read. */
async function writer(index: number, until: AbortSignal): Promise<void> {
  while (!until.aborted) {
    const key = `${index}/${Math.floor(random() * keysPerWriter)}`
    const choice = random()
    try {
      if (choice < 0.6) await put(key)
      else if (choice < 0.72) await write(key, undefined, () => s3.remove(key))
      else if (choice < 0.8) await write(key, source.hash, () => s3.copy(key, 'source'))
      else if (choice < 0.83) await multipart(key)
      else {
        const problem = journal.check(key, await read(key))
        if (problem !== undefined) problems.push(`before the crash, ${problem}`)
      }
    } catch (error) {
      // Without an answer: the crash. Nothing more can be sent in this round. An answer that is an error is a failure.
      if (error instanceof AnswerError) problems.push(error.message)
      else unansweredCount++
      return
    }
  }
}

/** Load until some random number of writes was acknowledged, and then the crash, wherever the others are. */
async function loadAndCrash(): Promise<void> {
  const crash = new AbortController()
  const target = acknowledgedCount + Math.floor(random() * 60)
  const writers = Array.from({ length: writerCount }, (_, index) => writer(index, crash.signal))
  for (let waited = 0; acknowledgedCount < target && waited < 2000 && problems.length === 0; waited += 5) await sleep(5)
  await sleep(random() * 10)
  await server.kill()
  crash.abort()
  await Promise.all(writers)
  client.disconnect()
}

async function verify(keys: Iterable<string>): Promise<void> {
  const { certain, possible } = journal.present()
  const listed = await s3.list()
  for (const key of certain) if (!listed.has(key)) problems.push(`${key}: acknowledged, but not listed`)
  for (const key of listed.keys()) if (!possible.has(key)) problems.push(`${key}: listed, but never written or deleted`)
  for (const key of keys) {
    const seen = await read(key)
    const problem = journal.settle(key, seen)
    if (problem !== undefined) problems.push(problem)
    const size = seen === undefined ? undefined : Number(seen.split(':')[0])
    if (listed.get(key) !== size) problems.push(`${key}: listed with ${listed.get(key)} bytes, read ${size}`)
  }
}

/** Uploads that were open are open, with every acknowledged part; then they are aborted. */
async function verifyUploads(): Promise<void> {
  const open = await s3.listUploads()
  const ids = new Set(open.map(({ uploadId }) => uploadId))
  for (const { key, uploadId, parts, ending } of uploads.values()) {
    if (!ids.has(uploadId)) {
      if (!ending) problems.push(`${key}: upload ${uploadId} was acknowledged and is gone`)
      continue
    }
    const listed = await s3.listParts(key, uploadId)
    for (const [number, etag] of parts) {
      if (listed.get(number) !== etag)
        problems.push(`${key}: part ${number} was acknowledged and is ${listed.get(number)}`)
    }
  }
  uploads.clear()
  for (const { key, uploadId } of open) await s3.abort(key, uploadId)
}

await s3.createBucket()
await write('source', source.hash, () => s3.put('source', source.bytes))

t.test('crashes lose nothing that was acknowledged and tear nothing that was not', async t => {
  const began = Date.now()
  let round = 0
  for (; round < roundCount && problems.length === 0 && Date.now() - began < loadMsMax; round++) {
    await loadAndCrash()
    // Now and then the next crash comes while the server still replays what the last one left.
    if (random() < 0.15) {
      const start = server.start().catch(() => {
        // It was killed before it was ready, as intended.
      })
      await sleep(random() * 800)
      await server.kill()
      await start
    }
    await server.start()
    await verifyUploads()
    await verify(round % fullRoundInterval === fullRoundInterval - 1 ? journal.keys() : touched)
    touched.clear()
  }
  t.same(problems, [], `SEED=${seed}`)
  t.ok(round >= roundCountMin, `${round} crashes`)
  t.ok(acknowledgedCount > round * 5, `${acknowledgedCount} writes were acknowledged`)
  t.ok(unansweredCount > round, `${unansweredCount} were cut off: the crashes came while it was busy`)
})

t.test('after all of it the bucket can be emptied, and nothing is left on the drive', async t => {
  await verify(journal.keys())
  t.same(problems, [])
  for (const key of journal.present().certain) await s3.remove(key)
  // Refused unless the counters of objects, versions and uploads are exactly zero.
  await s3.deleteBucket()
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
