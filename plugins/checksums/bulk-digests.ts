/**
 * Digests of large bodies on a thread of their own, so that the thread that receives them has time for others. Their bytes go there
 * through memory that both share (digest-memory.ts): one copy, no message. At most `ringBytes` of a body wait; then its sender does.
 *
 * - One thread for each thread of requests, made for the first large body, where the process has more than one processor.
 * - A body for which there is no place, or no thread yet, is digested where it is received.
 * - When the thread ends, all its bodies fail: `update` and `digest` reject. The next body makes a new thread.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Logger, MaybePromise } from 'svc/kernel'
import { algorithms, algorithmTable } from './algorithms.ts'
import type { Digests, DigestsOptions, StreamDigests } from './api.ts'
import { DigestMemory, enoughBytes, isReadyAt, kicksAt, ringBytes, State, streamsMax, Word } from './digest-memory.ts'
import { copyShared } from './shared-copy.ts'

/** Smaller bodies are not handed over. */
export const bulkBytesMin = 262_144
/** After a thread has ended, so long none is made. */
const restartMs = 1000

export interface BulkDigestsOptions {
  readonly log?: Logger
  readonly processorCount?: number
  readonly startThread?: (memory: SharedArrayBuffer) => Worker
}

export interface BulkDigests {
  /** Undefined where the caller has to compute the digests itself. */
  create(options: DigestsOptions): StreamDigests | undefined
  stop(): Promise<void>
}

export function createBulkDigests(options: BulkDigestsOptions = {}): BulkDigests {
  const { log, processorCount = availableParallelism(), startThread = startDigestThread } = options
  let thread: DigestThread | undefined
  let isStopped = false
  let notBefore = 0
  const start = () => {
    const started = new DigestThread(startThread, (error, code) => {
      notBefore = performance.now() + restartMs
      if (thread === started) thread = undefined
      if (!isStopped) log?.error({ err: error, code }, 'the digest thread ended; the uploads that used it have failed')
    })
    return started
  }
  return {
    create(wanted) {
      if (processorCount < 2 || isStopped || (wanted.sizeBytes ?? 0) < bulkBytesMin) return undefined
      if (!wanted.md5 && wanted.algorithm === undefined) return undefined
      if (thread === undefined && performance.now() >= notBefore) thread = start()
      return thread?.create(wanted)
    },
    async stop() {
      isStopped = true
      await thread?.stop()
    },
  }
}

function startDigestThread(memory: SharedArrayBuffer): Worker {
  const entry = new URL(`./digest-thread${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  return new Worker(entry, { workerData: memory, name: 'svc-digests' })
}

class DigestThread {
  readonly memory = new DigestMemory()
  readonly #worker: Worker
  readonly #open = new Set<number>()
  #isKicking = false
  /** Why its streams fail. */
  failure: Error | undefined

  constructor(
    startThread: (memory: SharedArrayBuffer) => Worker,
    onEnd: (error: Error | undefined, code: number) => void,
  ) {
    this.#worker = startThread(this.memory.shared)
    this.#worker.unref()
    let cause: Error | undefined
    this.#worker.on('error', error => {
      cause = error as Error
    })
    this.#worker.on('exit', code => {
      this.failure = new Error('The digest thread ended before it had the digests of this body.', { cause })
      const { memory } = this
      for (let stream = 0; stream < streamsMax; stream++) {
        const line = memory.lineOf(stream)
        Atomics.notify(memory.words, line + Word.consumed)
        Atomics.notify(memory.words, line + Word.state)
      }
      onEnd(cause, code)
    })
  }

  create(options: DigestsOptions): StreamDigests | undefined {
    const { words } = this.memory
    if (this.failure !== undefined || Atomics.load(words, isReadyAt) === 0) return undefined
    for (let stream = 0; stream < streamsMax; stream++) {
      if (Atomics.load(words, this.memory.lineOf(stream) + Word.state) !== State.free) continue
      if (this.#open.size === 0) this.#worker.ref()
      this.#open.add(stream)
      return new ThreadDigests(this, stream, options)
    }
    return undefined
  }

  closed(stream: number): void {
    if (this.#open.delete(stream) && this.#open.size === 0) this.#worker.unref()
  }

  /** Wakes the thread. */
  kick(): void {
    const { words } = this.memory
    Atomics.add(words, kicksAt, 1)
    Atomics.notify(words, kicksAt)
  }

  /** Wakes it at the end of this turn of the event loop, so that several streams have bytes for it. */
  kickSoon(): void {
    if (this.#isKicking) return
    this.#isKicking = true
    setImmediate(() => {
      this.#isKicking = false
      this.kick()
    })
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

class ThreadDigests implements StreamDigests {
  readonly #thread: DigestThread
  readonly #stream: number
  readonly #line: number
  readonly #options: DigestsOptions
  #written = 0
  #isClosed = false

  constructor(thread: DigestThread, stream: number, options: DigestsOptions) {
    const { memory } = thread
    this.#thread = thread
    this.#stream = stream
    this.#line = memory.lineOf(stream)
    this.#options = options
    const { words } = memory
    words[this.#line + Word.written] = 0
    words[this.#line + Word.consumed] = 0
    words[this.#line + Word.algorithm] = options.algorithm === undefined ? -1 : algorithms.indexOf(options.algorithm)
    words[this.#line + Word.isWaiting] = 0
    words[this.#line + Word.withMd5] = options.md5 ? 1 : 0
    Atomics.store(words, this.#line + Word.state, State.open)
  }

  update(bytes: Uint8Array): MaybePromise<void> {
    this.#require()
    const taken = this.#fill(bytes, 0)
    if (taken < bytes.length) return this.#fillRest(bytes, taken)
  }

  /** Puts bytes into the ring as far as there is room; returns where it stopped. */
  #fill(bytes: Uint8Array, from: number): number {
    const { memory } = this.#thread
    const waitingBytes = (this.#written - Atomics.load(memory.words, this.#line + Word.consumed)) | 0
    const count = Math.min(bytes.length - from, ringBytes - waitingBytes)
    for (let at = 0; at < count; ) {
      const room = memory.piece(this.#stream, (this.#written + at) | 0, count - at)
      copyShared(room, 0, bytes.subarray(from + at, from + at + room.length))
      at += room.length
    }
    this.#written = (this.#written + count) | 0
    Atomics.store(memory.words, this.#line + Word.written, this.#written)
    if (waitingBytes + count >= enoughBytes) this.#thread.kickSoon()
    return from + count
  }

  async #fillRest(bytes: Uint8Array, from: number): Promise<void> {
    for (let at = from; at < bytes.length; at = this.#fill(bytes, at)) {
      // The ring was full when its last byte was written; the thread looks at `isWaiting` after it has taken some.
      Atomics.store(this.#thread.memory.words, this.#line + Word.isWaiting, 1)
      await this.#change(Word.consumed, (this.#written - ringBytes) | 0)
    }
  }

  /** Resolves when the word is no longer what it was. */
  async #change(word: number, seen: number): Promise<void> {
    const change = Atomics.waitAsync(this.#thread.memory.words, this.#line + word, seen)
    if (change.async) await change.value
    this.#require()
  }

  async digest(): Promise<Digests> {
    try {
      this.#require()
      const { memory } = this.#thread
      Atomics.store(memory.words, this.#line + Word.state, State.ended)
      this.#thread.kickSoon()
      await this.#change(Word.state, State.ended)
      const { md5, algorithm } = this.#options
      return {
        md5: md5 ? Buffer.from(memory.md5(this.#stream)) : undefined,
        checksum:
          algorithm === undefined
            ? undefined
            : Buffer.from(memory.checksum(this.#stream).subarray(0, algorithmTable[algorithm].sizeBytes)),
      }
    } finally {
      this.release()
    }
  }

  release(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const { words } = this.#thread.memory
    const at = this.#line + Word.state
    if (Atomics.compareExchange(words, at, State.done, State.free) !== State.done) {
      Atomics.store(words, at, State.givenUp)
      // The thread frees it, and what waits for it here is told.
      Atomics.notify(words, at)
      Atomics.notify(words, this.#line + Word.consumed)
      this.#thread.kick()
    }
    this.#thread.closed(this.#stream)
  }

  #require(): void {
    if (this.#thread.failure !== undefined) throw this.#thread.failure
    if (this.#isClosed) throw new Error('the digests were given up, or have been taken already')
  }
}
