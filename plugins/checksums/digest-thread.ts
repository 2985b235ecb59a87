/**
 * The program of a digest thread: takes the bytes of all streams out of their rings and computes their digests, several MD5s at a time.
 * It sleeps until it is told that there is something to do. Whatever fails here ends the thread, and so the uploads that wait for it.
 */
import { workerData } from 'node:worker_threads'
import type { Checksum } from './api.ts'
import { createChecksums } from './checksums.ts'
import { DigestMemory, enoughBytes, isReadyAt, kicksAt, State, streamsMax, Word } from './digest-memory.ts'
import { Md5Lanes, type Slot } from './md5-lanes.ts'
import { paddingOf } from './md5-module.ts'
import { copyShared } from './shared-copy.ts'

interface Stream {
  readonly line: number
  readonly md5: Slot | undefined
  readonly checksum: Checksum | undefined
  sizeBytes: number
}

/** So much of each stream is digested at a time: it stays in the caches of a core meanwhile. */
const biteBytes = 65_536

const memory = new DigestMemory(workerData as SharedArrayBuffer)
const { words } = memory
/** The bytes of a bite, in memory that is not shared. */
const bitten = Buffer.alloc(biteBytes)
const lanes = new Md5Lanes()
const checksums = createChecksums()
const streams: (Stream | undefined)[] = Array.from({ length: streamsMax }, () => undefined)

function begin(line: number): Stream {
  const algorithm = checksums.algorithms[words[line + Word.algorithm]!]
  const withMd5 = words[line + Word.withMd5] === 1
  const md5 = withMd5 ? lanes.take() : undefined
  if (withMd5 && md5 === undefined) throw new Error('there are more streams than lanes have slots')
  return { line, md5, checksum: algorithm === undefined ? undefined : checksums.create(algorithm), sizeBytes: 0 }
}

/** Bytes of the ring that wait. */
function waitingIn(line: number): number {
  return (Atomics.load(words, line + Word.written) - words[line + Word.consumed]!) | 0
}

/** Takes one bite of the ring, and all checksums of it while it is in the caches. */
function bite(index: number, { line, md5, checksum }: Stream): void {
  const stream = streams[index]!
  const consumed = words[line + Word.consumed]!
  const piece = memory.piece(index, consumed, Math.min(biteBytes, waitingIn(line)))
  copyShared(bitten, 0, piece)
  const own = bitten.subarray(0, piece.length)
  if (md5 !== undefined) lanes.fill(md5, own, 0)
  checksum?.update(own)
  stream.sizeBytes += piece.length
  Atomics.store(words, line + Word.consumed, (consumed + piece.length) | 0)
}

function finish(index: number, { line, md5, checksum, sizeBytes }: Stream): void {
  if (md5 !== undefined) {
    lanes.fill(md5, paddingOf(sizeBytes), 0)
    lanes.computeNow(md5)
    lanes.digest(md5).copy(memory.md5(index))
  }
  checksum?.digest().copy(memory.checksum(index))
  forget(index)
  if (Atomics.compareExchange(words, line + Word.state, State.ended, State.done) !== State.ended) return
  Atomics.notify(words, line + Word.state)
}

function forget(index: number): void {
  const md5 = streams[index]?.md5
  if (md5 !== undefined) lanes.release(md5)
  streams[index] = undefined
}

/** Looks at a stream; returns whether it has enough for a digest, or has ended. */
function look(index: number): boolean {
  const line = memory.lineOf(index)
  const state = Atomics.load(words, line + Word.state)
  if (state === State.givenUp) {
    forget(index)
    Atomics.store(words, line + Word.state, State.free)
    return false
  }
  if (state !== State.open && state !== State.ended) return false
  streams[index] ??= begin(line)
  return state === State.ended || waitingIn(line) >= enoughBytes
}

/** A bite of each stream that has a whole one, or its last; then their digests, together. */
function round(): void {
  for (const [index, stream] of streams.entries()) {
    if (stream === undefined) continue
    const { line } = stream
    // The state is read first: an ended stream gets no more bytes.
    const hasEnded = Atomics.load(words, line + Word.state) === State.ended
    const bytes = waitingIn(line)
    if (bytes >= biteBytes || (hasEnded && bytes > 0)) bite(index, stream)
    else if (hasEnded) finish(index, stream)
  }
  for (const stream of streams) if (stream?.md5 !== undefined) lanes.computeNow(stream.md5)
  for (const stream of streams) {
    if (stream === undefined || waitingIn(stream.line) > enoughBytes) continue
    // Its sender is woken when there is room for much.
    const { line } = stream
    if (Atomics.exchange(words, line + Word.isWaiting, 0) === 1) Atomics.notify(words, line + Word.consumed)
  }
}

await checksums.start()
Atomics.store(words, isReadyAt, 1)
for (;;) {
  const kicks = Atomics.load(words, kicksAt)
  for (let isDue = true; isDue; ) {
    isDue = false
    for (let index = 0; index < streamsMax; index++) if (look(index)) isDue = true
    if (isDue) round()
  }
  Atomics.wait(words, kicksAt, kicks)
}
