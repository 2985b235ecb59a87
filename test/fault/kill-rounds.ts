/**
 * What the tests that kill a server have in common: clients that write, read and delete at random, a crash in the middle of it, and
 * the comparison of what is there afterwards with what was acknowledged. The seed repeats the choices, not the timing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestServer } from '../wire/server.ts'
import type { SignedClient } from '../wire/signed-client.ts'
import { contentOf, createJournalOfAcks, type JournalOfAcks, type State, stateOf } from './journal-of-acks.ts'
import { AnswerError, createOperations, type Operations } from './operations.ts'

const writerCount = 8
const keysPerWriter = 8
/** Around the limit below which a body lies in the journal (128 KiB), and around a block. */
const sizes = [0, 1, 100, 4096, 4097, 70_000, 131_072, 131_073, 400_000, 1_500_000]
/** How long crashes go on at most, in milliseconds: `CRASH_SECONDS`, or `otherwise`; without end where their number was asked for. */
export function loadMsMaxOf({ ROUNDS, CRASH_SECONDS }: NodeJS.ProcessEnv, otherwise: number): number {
  if (ROUNDS !== undefined) return Number.POSITIVE_INFINITY
  return CRASH_SECONDS === undefined ? otherwise : Number(CRASH_SECONDS) * 1000
}

/** A client that was refused waits so long before it goes on. */
const refusedMs = 20

/** mulberry32: small, seeded, good enough to choose. */
export function createRandom(state: number): () => number {
  let next = state
  return () => {
    next = (next + 0x6d2b79f5) | 0
    let mixed = Math.imul(next ^ (next >>> 15), next | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface OpenUpload {
  readonly key: string
  readonly uploadId: string
  /** ETags of acknowledged parts, by number. */
  readonly parts: Map<number, string>
  /** The client asked to complete it. */
  ending: boolean
}

export interface KillRoundsOptions {
  readonly server: TestServer
  readonly client: SignedClient
  readonly seed: number
  readonly random: () => number
  /** Whether changes may be answered with 503 now. Nobody knows whether such a change was made. Default: never. */
  isRefusalAllowed?(): boolean
}

export interface LoadOptions {
  /** Default: two seconds. */
  readonly waitMsMax?: number
  /** Called when half of the writes were acknowledged that this round waits for, or never. */
  halfway?(): void
}

export interface KillCounts {
  acknowledged: number
  /** Without an answer, because of the crash. */
  unanswered: number
  /** Without an answer although the server ran. */
  brokenOff: number
  refused: number
}

export interface KillRounds {
  readonly s3: Operations
  readonly journal: JournalOfAcks
  /** Everything that was wrong so far. */
  readonly problems: string[]
  readonly counts: KillCounts
  /** Makes the bucket, and what copies are made of. */
  begin(): Promise<void>
  /** Load until some random number of writes was acknowledged, and then the crash, wherever the others are. */
  loadAndCrash(options?: LoadOptions): Promise<void>
  /** Starts the server. Now and then the next crash comes while it still replays what the last one left. */
  startAgain(): Promise<void>
  /** Compares the listing, and what is read of all keys or of those that were written since the last time. */
  verify(keys: 'all' | 'touched'): Promise<void>
  /** Uploads that were open are open, with every acknowledged part; then they are aborted. */
  verifyUploads(): Promise<void>
}

export function createKillRounds({
  server,
  client,
  seed,
  random,
  isRefusalAllowed = () => false,
}: KillRoundsOptions): KillRounds {
  const s3 = createOperations(client, 'crash')
  const journal = createJournalOfAcks()
  const uploads = new Map<string, OpenUpload>()
  const touched = new Set<string>()
  const source = contentOf(`source ${seed}`, 200_000)
  const problems: string[] = []
  const counts: KillCounts = { acknowledged: 0, unanswered: 0, brokenOff: 0, refused: 0 }
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const isRefusal = (error: unknown) => error instanceof AnswerError && error.status === 503 && isRefusalAllowed()
  let writeCount = 0
  let isRunning = true

  async function write(key: string, state: State, send: () => Promise<unknown>): Promise<void> {
    touched.add(key)
    journal.ask(key, state)
    await send()
    journal.acknowledge(key, state)
    counts.acknowledged++
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

  const putSource = () => write('source', source.hash, () => s3.put('source', source.bytes))

  /**
   * Whether what is seen now stays so, as an acknowledged write proves. A set of drives that are enough to read and too few to
   * write cannot settle anything: a write without an answer may still show when the drive that has it comes back.
   */
  async function settles(): Promise<boolean> {
    try {
      await putSource()
      return true
    } catch (error) {
      if (!isRefusal(error)) throw error
      return false
    }
  }

  async function read(key: string): Promise<State> {
    const bytes = await s3.get(key)
    return bytes === undefined ? undefined : stateOf(bytes)
  }

  async function change(key: string, choice: number): Promise<void> {
    try {
      if (choice < 0.6) await put(key)
      else if (choice < 0.72) await write(key, undefined, () => s3.remove(key))
      else if (choice < 0.8) await write(key, source.hash, () => s3.copy(key, 'source'))
      else await multipart(key)
    } catch (error) {
      if (!isRefusal(error)) throw error
      counts.refused++
      await sleep(refusedMs)
    }
  }

  /** One client, the only one that writes its keys: what it was told last is what it must read. */
  async function writer(index: number, until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      const key = `${index}/${Math.floor(random() * keysPerWriter)}`
      const choice = random()
      try {
        if (choice < 0.83) await change(key, choice)
        else {
          const problem = journal.check(key, await read(key))
          if (problem !== undefined) problems.push(`before the crash, ${problem}`)
        }
      } catch (error) {
        // Without an answer: the crash. Nothing more can be sent in this round. An answer that is an error is a failure.
        if (error instanceof AnswerError) problems.push(error.message)
        else if (isRunning) counts.brokenOff++
        else counts.unanswered++
        return
      }
    }
  }

  async function kill(): Promise<void> {
    isRunning = false
    await server.kill()
  }

  async function start(): Promise<void> {
    await server.start()
    isRunning = true
  }

  return {
    s3,
    journal,
    problems,
    counts,
    async begin() {
      await s3.createBucket()
      await putSource()
    },
    async loadAndCrash({ waitMsMax = 2000, halfway } = {}) {
      const crash = new AbortController()
      const before = counts.acknowledged
      const target = before + Math.floor(random() * 60)
      let isHalfwayAhead = halfway !== undefined
      const writers = Array.from({ length: writerCount }, (_, index) => writer(index, crash.signal))
      for (let waited = 0; counts.acknowledged < target && waited < waitMsMax && problems.length === 0; waited += 5) {
        await sleep(5)
        if (!isHalfwayAhead || counts.acknowledged < (before + target) / 2) continue
        isHalfwayAhead = false
        halfway?.()
      }
      await sleep(random() * 10)
      await kill()
      crash.abort()
      await Promise.all(writers)
      client.disconnect()
    },
    async startAgain() {
      if (random() < 0.15) {
        const starting = server.start().catch(() => {
          // It was killed before it was ready, as intended.
        })
        await sleep(random() * 800)
        await kill()
        await starting
      }
      await start()
    },
    async verify(keys) {
      const isSettled = await settles()
      const { certain, possible } = journal.present()
      const listed = await s3.list()
      for (const key of certain) if (!listed.has(key)) problems.push(`${key}: acknowledged, but not listed`)
      for (const key of listed.keys()) {
        if (!possible.has(key)) problems.push(`${key}: listed, but never written or deleted`)
      }
      for (const key of keys === 'all' ? journal.keys() : touched) {
        const seen = await read(key)
        const problem = journal.settle(key, seen, isSettled)
        if (problem !== undefined) problems.push(problem)
        const size = seen === undefined ? undefined : Number(seen.split(':')[0])
        if (listed.get(key) !== size) problems.push(`${key}: listed with ${listed.get(key)} bytes, read ${size}`)
      }
      touched.clear()
    },
    async verifyUploads() {
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
      for (const { key, uploadId } of open) {
        try {
          await s3.abort(key, uploadId)
        } catch (error) {
          // It is listed the next time, and aborted then.
          if (!isRefusal(error)) throw error
          counts.refused++
        }
      }
    },
  }
}
