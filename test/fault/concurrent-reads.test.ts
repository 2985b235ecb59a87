/**
 * Many downloads at once, with ranges, pipelined, slow, broken off, of whole and of damaged blobs: buffers are used again and again, and
 * every byte that is sent must be of its object. On one drive, and on a set of four of which one has damaged shards.
 */
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, GetObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { createSeededRandom, type SeededRandom } from 'svc/testing'
import t, { type Test } from 'tap'
import { bytesOf } from '../wire/clients.ts'
import { createClient } from '../wire/sdk.ts'
import { startServer, type TestServer, workerCount } from '../wire/server.ts'

const Bucket = 'reads'
const MiB = 1024 * 1024
const seed = Number(process.env.SEED ?? 1 + Math.floor(Math.random() * 2 ** 30))
const clientCount = 24
const exchangesEach = 12
const readerCount = 200
/** Code, heaps and garbage of a thread that has served one request before. */
const warmUpBytes = 60 * MiB

interface Thing {
  readonly key: string
  readonly bytes: Buffer
  readonly isDamaged: boolean
  readonly get: string
  readonly head: string
}

/** One answer that is due. */
interface Due {
  readonly thing: Thing
  readonly isHead: boolean
  readonly start: number
  readonly end: number
}

interface Manner {
  /** Breaks off when it has so many bytes of bodies. */
  readonly breaksOffAt: number
  readonly isReset: boolean
  /** Does not read for so long after each piece. */
  readonly restsMs: number
}

const patient: Manner = { breaksOffAt: Number.POSITIVE_INFINITY, isReset: false, restsMs: 0 }

function requestOf({ thing, isHead, start, end }: Due): string {
  const url = new URL(isHead ? thing.head : thing.get)
  const isAll = start === 0 && end === thing.bytes.length
  // A suffix where it is one.
  const range = end === thing.bytes.length ? `-${end - start}` : `${start}-${end - 1}`
  const lines = [`${isHead ? 'HEAD' : 'GET'} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`]
  if (!isAll) lines.push(`Range: bytes=${range}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

type Outcome = 'complete' | 'refused' | 'broken'

/** Compares what arrives with what is due, byte by byte as it comes. */
class Answers {
  readonly outcomes: Outcome[] = []
  wrong: string | undefined
  bodyBytes = 0
  readonly #due: readonly Due[]
  #head = Buffer.alloc(0)
  /** Of the body that is being read. */
  #at = -1
  #left = 0
  #isRefusal = false

  constructor(due: readonly Due[]) {
    this.#due = due
  }

  get isDone(): boolean {
    return this.outcomes.length === this.#due.length
  }

  take(piece: Buffer): void {
    for (let rest = piece; rest.length > 0 && this.wrong === undefined; ) {
      const due = this.#due[this.outcomes.length]
      if (due === undefined) {
        this.wrong = 'bytes behind the last answer'
        return
      }
      rest = this.#at < 0 ? this.#takeHead(rest, due) : this.#takeBody(rest, due)
    }
  }

  #takeHead(bytes: Buffer, { thing, isHead, start, end }: Due): Buffer {
    this.#head = Buffer.concat([this.#head, bytes])
    const headEnd = this.#head.indexOf('\r\n\r\n')
    if (headEnd < 0) return Buffer.alloc(0)
    const head = this.#head.toString('latin1', 0, headEnd)
    const rest = this.#head.subarray(headEnd + 4)
    this.#head = Buffer.alloc(0)
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.NaN)
    this.#isRefusal = status >= 500
    const isExpected = status === (start === 0 && end === thing.bytes.length ? 200 : 206) && length === end - start
    if (!isExpected && !this.#isRefusal) this.wrong = `${thing.key} ${start}-${end}: ${head}`
    this.#at = 0
    this.#left = isHead ? 0 : length
    if (this.#left === 0) this.#end()
    return rest
  }

  #takeBody(bytes: Buffer, { thing, start }: Due): Buffer {
    const part = bytes.subarray(0, this.#left)
    if (!this.#isRefusal && !part.equals(thing.bytes.subarray(start + this.#at, start + this.#at + part.length)))
      this.wrong = `${thing.key}: other bytes at ${start + this.#at}`
    this.#at += part.length
    this.#left -= part.length
    this.bodyBytes += part.length
    if (this.#left === 0) this.#end()
    return bytes.subarray(part.length)
  }

  #end(): void {
    this.#at = -1
    this.outcomes.push(this.#isRefusal ? 'refused' : 'complete')
  }
}

/** Sends all requests at once, and reads their answers. Throws where a byte is wrong. */
async function exchange(port: number, due: readonly Due[], manner: Manner): Promise<readonly Outcome[]> {
  const answers = new Answers(due)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const closed = new Promise(done => socket.once('close', done))
  socket.write(due.map(requestOf).join(''))
  socket.on('data', piece => {
    answers.take(piece)
    if (answers.isDone || answers.wrong !== undefined || answers.bodyBytes >= manner.breaksOffAt) leave(socket, manner)
    else if (manner.restsMs > 0) {
      socket.pause()
      setTimeout(() => socket.resume(), manner.restsMs)
    }
  })
  await closed
  if (answers.wrong !== undefined) throw new Error(answers.wrong)
  return due.map((_, index) => answers.outcomes[index] ?? 'broken')
}

function leave(socket: Socket, { isReset }: Manner): void {
  if (isReset) socket.resetAndDestroy()
  else socket.destroy()
}

function rangeOf(random: SeededRandom, size: number): readonly [number, number] {
  if (random.integer(3) === 0) return [0, size]
  const start = random.integer(size)
  const end = start + 1 + random.integer(size - start)
  const aligned = (at: number) => Math.min(size, Math.round(at / 262_144) * 262_144)
  // At the borders of blocks, and inside of them.
  if (random.integer(3) === 0 && aligned(start) < aligned(end)) return [aligned(start), aligned(end)]
  return [start, end]
}

function mannerOf(random: SeededRandom, bytes: number): Manner {
  const way = random.integer(4)
  return {
    breaksOffAt: way === 0 ? random.integer(bytes + 1) : Number.POSITIVE_INFINITY,
    isReset: random.integer(2) === 0,
    restsMs: way === 1 ? random.integer(4) : 0,
  }
}

async function hammer(t: Test, server: TestServer, things: readonly Thing[], random: SeededRandom): Promise<void> {
  const counts = { complete: 0, refused: 0, broken: 0 }
  const client = async () => {
    for (let round = 0; round < exchangesEach; round++) {
      const due = Array.from({ length: random.integer(4) === 0 ? 2 + random.integer(3) : 1 }, () => {
        const thing = random.pick(things)
        const [start, end] = rangeOf(random, thing.bytes.length)
        return { thing, isHead: random.integer(8) === 0, start, end }
      })
      const manner = mannerOf(
        random,
        due.reduce((sum, { start, end }) => sum + end - start, 0),
      )
      const outcomes = await exchange(server.port, due, manner)
      for (const outcome of outcomes) counts[outcome]++
      const firstBad = outcomes.findIndex(outcome => outcome !== 'complete')
      const isLeft = manner.breaksOffAt < Number.POSITIVE_INFINITY
      if (firstBad >= 0 && !isLeft && due[firstBad]?.thing.isDamaged !== true)
        throw new Error(`${due[firstBad]?.thing.key} is whole, and was ${outcomes[firstBad]}`)
      const bad = outcomes.findIndex((outcome, index) => outcome === 'complete' && isUnreadable(due[index] as Due))
      if (bad >= 0) throw new Error(`${due[bad]?.thing.key} is damaged, and was complete`)
    }
  }
  await Promise.all(Array.from({ length: clientCount }, client))
  t.ok(counts.complete > 100, `${counts.complete} answers complete, ${counts.refused} refused, ${counts.broken} broken`)
}

const isUnreadable = ({ thing, isHead, start, end }: Due) =>
  thing.isDamaged && !isHead && start === 0 && end === thing.bytes.length

async function settlesAt(t: Test, what: string, value: () => number, limit: number): Promise<void> {
  for (let attempt = 0; attempt < 300 && value() > limit; attempt++) await sleep(100)
  t.ok(value() <= limit, `${what}: ${value()} of at most ${limit}`)
}

const openFiles = ({ pid }: TestServer) => readdirSync(`/proc/${pid}/fd`).length
const residentBytes = ({ pid }: TestServer) =>
  Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

async function prepare(t: Test, drives: number) {
  const random = createSeededRandom(seed)
  t.comment(`seed ${seed}`)
  const folder = mkdtempSync(join(tmpdir(), 'svc-reads-'))
  const server = await startServer({
    drive: join(folder, drives > 1 ? `drive{1...${drives}}` : 'drive'),
    // Little: the readers have it all at most times.
    environment: {
      SVC_DRIVE_READ_BUFFER_BYTES: String(4 * MiB),
      // On a slow machine, too, nobody is ended who was told to wait.
      SVC_SEND_TIMEOUT: '120s',
      SVC_KMS_SECRET_KEY: `reads:${Buffer.alloc(32, 7).toString('base64')}`,
    },
  })
  t.teardown(async () => {
    await server.remove()
    rmSync(folder, { recursive: true, force: true })
  })
  const s3 = createClient(server)
  t.teardown(() => s3.destroy())
  await s3.send(new CreateBucketCommand({ Bucket }))
  const put = async (key: string, size: number, isDamaged = false, isEncrypted = false): Promise<Thing> => {
    const bytes = bytesOf(`${seed} ${key}`, size)
    const sealed = isEncrypted ? ({ ServerSideEncryption: 'AES256' } as const) : {}
    await s3.send(new PutObjectCommand({ Bucket, Key: key, Body: bytes, ...sealed }))
    const [get, head] = await Promise.all([
      getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: key })),
      getSignedUrl(s3, new HeadObjectCommand({ Bucket, Key: key })),
    ])
    return { key, bytes, isDamaged, get, head }
  }
  return { random, server, put, folder }
}

/** The file of a blob whose first bytes are those. */
function blobOf(drive: string, { bytes }: Thing): string {
  const start = bytes.subarray(0, 4096)
  const found = globSync(join(drive, 'blobs/*/*')).find(path => readFileSync(path).subarray(0, 4096).equals(start))
  if (found === undefined) throw new Error('no blob of it')
  return found
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at % bytes.length]! ^= 1 + (at % 255)
  writeFileSync(path, bytes)
}

const sizes = [200_000, 262_144, 700_001, MiB, MiB + 1, 3 * MiB + 4095, 9 * MiB + 77]

t.test('on one drive', async t => {
  const { random, server, put, folder } = await prepare(t, 1)
  const things: Thing[] = []
  for (const size of sizes)
    things.push(await put(`whole-${size}`, size), await put(`sealed-${size}`, size, false, true))
  for (let index = 0; index < 8; index++) {
    const size = random.pick(sizes)
    const thing = await put(`damaged-${index}`, size, true)
    const path = blobOf(join(folder, 'drive'), thing)
    // In the data, in the table of checksums behind it, or anywhere cut off.
    if (index % 4 === 0) flip(path, random.integer(size))
    else if (index % 4 === 1) flip(path, Math.ceil(size / 4096) * 4096 + random.integer(4 * Math.ceil(size / 262_144)))
    else truncateSync(path, random.integer(size))
    things.push(thing)
  }
  const before = openFiles(server)
  await hammer(t, server, things, random)
  await settlesAt(t, 'open files', () => openFiles(server), before + 4)
})

t.test('on a set of four drives, one of which has damaged shards', async t => {
  const { random, server, put, folder } = await prepare(t, 4)
  const things: Thing[] = []
  for (const size of sizes)
    things.push(await put(`whole-${size}`, size), await put(`sealed-${size}`, size, false, true))
  const before = openFiles(server)
  const shards = globSync(join(folder, 'drive2/blobs/*/*'))
  t.ok(shards.length >= sizes.length - 1)
  for (const path of shards) {
    if (random.integer(2) === 0) flip(path, random.integer(2 ** 30))
    else truncateSync(path, random.integer(readFileSync(path).length))
  }
  await hammer(t, server, things, random)
  await settlesAt(t, 'open files', () => openFiles(server), before + 4)
})

t.test(`${readerCount} readers who do not read occupy little memory, and get every byte in the end`, async t => {
  const { server, put } = await prepare(t, 1)
  const thing = await put('large', 12 * MiB)
  const due = [{ thing, isHead: false, start: 0, end: thing.bytes.length }]
  await exchange(server.port, due, patient)
  const before = { files: openFiles(server), bytes: residentBytes(server) }
  const readers = Array.from({ length: readerCount }, () => {
    const socket = connect(server.port, '127.0.0.1').pause()
    socket.on('error', () => undefined)
    socket.write(requestOf(due[0]!))
    return socket
  })
  // A socket and a file each. The connection of the exchange may have been there still when they were counted.
  await settlesAt(
    t,
    'readers that the server does not know yet',
    () => before.files + 2 * readerCount - openFiles(server),
    4,
  )
  await sleep(500)
  const moreBytes = residentBytes(server) - before.bytes
  // Each has three chunks of 256 KiB on their way and one that is read, and a socket; each thread warms up. They have asked for 2400 MiB.
  const allowedBytes = readerCount * 1.25 * MiB + (1 + workerCount) * warmUpBytes
  t.ok(moreBytes < allowedBytes, `${Math.round(moreBytes / MiB)} of at most ${allowedBytes / MiB} MiB`)
  await Promise.all(
    readers.map(async (socket, index) => {
      const answers = new Answers(due)
      const closed = new Promise(done => socket.once('close', done))
      socket.on('data', piece => {
        answers.take(piece)
        if (answers.isDone || answers.wrong !== undefined || index % 2 === 0)
          leave(socket, { ...patient, isReset: index % 4 === 0 })
      })
      socket.resume()
      await closed
      if (answers.wrong !== undefined) throw new Error(answers.wrong)
      if (index % 2 === 1 && !answers.isDone) throw new Error('not to the end')
    }),
  )
  await settlesAt(t, 'open files', () => openFiles(server), before.files + 4)
})
