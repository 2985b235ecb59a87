/**
 * Decrypts a range of a version. The streams of a version (its parts, or the one piece) are stored one after the other, each in its own
 * chunks (chunks.ts). `storedRange` finds the whole chunks that contain the range; the other functions decrypt exactly these chunks
 * and cut the result to the range.
 */
import type { ObjectData } from 'svc/plugins/objects/api'
import type { BlobChunk } from 'svc/plugins/storage/api'
import { type ChunkCipher, chunkBytes, chunkCount, free, notAsStored, plainChunkBytes, storedBytes } from './chunks.ts'

export interface EncryptedStream {
  readonly sizeBytes: number
  /** Created when the first chunk of the stream is decrypted. */
  cipher(): ChunkCipher
}

/** The stored bytes of the chunks that contain a range. */
export interface StoredRange {
  readonly start: number
  readonly length: number
  readonly streamIndex: number
  readonly chunkIndex: number
  /** Bytes of plaintext in the first chunk before the range. */
  readonly skip: number
}

/** `length` > 0, or 0 for an empty version. */
export function storedRange(
  streams: readonly { readonly sizeBytes: number }[],
  start: number,
  length: number,
): StoredRange {
  let [streamIndex, before, left] = [0, 0, start]
  while (streamIndex < streams.length - 1 && left >= streams[streamIndex]!.sizeBytes) {
    left -= streams[streamIndex]!.sizeBytes
    before += storedBytes(streams[streamIndex]!.sizeBytes)
    streamIndex++
  }
  const chunkIndex = Math.floor(left / plainChunkBytes)
  const skip = left - chunkIndex * plainChunkBytes
  const from = before + chunkIndex * chunkBytes
  // The end of the chunk that has the last byte.
  let [last, lastBefore, end] = [streamIndex, before, left + length]
  while (last < streams.length - 1 && end > streams[last]!.sizeBytes) {
    end -= streams[last]!.sizeBytes
    lastBefore += storedBytes(streams[last]!.sizeBytes)
    last++
  }
  const whole = storedBytes(streams[last]!.sizeBytes)
  const to = lastBefore + Math.min(whole, chunkCount(end) * chunkBytes)
  return { start: from, length: to - from, streamIndex, chunkIndex, skip }
}

/** Decrypts consecutive chunks in the order in which they are stored. */
class Walk {
  readonly #streams: readonly EncryptedStream[]
  #streamIndex: number
  #chunkIndex: number
  #cipher: ChunkCipher | undefined
  #skip: number
  left: number

  constructor(streams: readonly EncryptedStream[], range: StoredRange, length: number) {
    this.#streams = streams
    this.#streamIndex = range.streamIndex
    this.#chunkIndex = range.chunkIndex
    this.#skip = range.skip
    this.left = length
    this.#passEnds()
  }

  /** Stored bytes of the next chunk. */
  get nextBytes(): number {
    const { sizeBytes } = this.#streams[this.#streamIndex]!
    return Math.min(chunkBytes, storedBytes(sizeBytes) - this.#chunkIndex * chunkBytes)
  }

  /** The plaintext of the next chunk, and the part of it that is in the range. Throws `corrupt`. */
  decryptNext(stored: Buffer): { readonly plaintext: Buffer; readonly wanted: Buffer } {
    const stream = this.#streams[this.#streamIndex]!
    this.#cipher ??= stream.cipher()
    const isLast = this.#chunkIndex === chunkCount(stream.sizeBytes) - 1
    const plaintext = this.#cipher.decrypt(this.#chunkIndex, isLast, stored)
    const wanted = plaintext.subarray(this.#skip, this.#skip + this.left)
    this.#skip = 0
    this.left -= wanted.length
    this.#chunkIndex++
    this.#passEnds()
    return { plaintext, wanted }
  }

  #passEnds(): void {
    while (this.#streamIndex < this.#streams.length - 1) {
      if (this.#chunkIndex < chunkCount(this.#streams[this.#streamIndex]!.sizeBytes)) return
      this.#streamIndex++
      this.#chunkIndex = 0
      this.#cipher = undefined
    }
  }
}

/** Bytes start <= i < start+length of a stream that is one chunk, `stored`. */
export function decryptChunk(
  cipher: ChunkCipher,
  sizeBytes: number,
  start: number,
  length: number,
  stored: Buffer,
): Buffer {
  if (stored.length !== storedBytes(sizeBytes) || start + length > sizeBytes) throw notAsStored()
  const plaintext = cipher.decrypt(0, true, stored)
  return length === sizeBytes ? plaintext : plaintext.subarray(start, start + length)
}

/** `bytes`: exactly the stored range. */
export function decryptWhole(
  streams: readonly EncryptedStream[],
  range: StoredRange,
  length: number,
  bytes: Buffer,
): Buffer {
  if (bytes.length !== range.length) throw notAsStored()
  const walk = new Walk(streams, range, length)
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const next = walk.nextBytes
    pieces.push(walk.decryptNext(bytes.subarray(at, at + next)).wanted)
    at += next
  }
  if (walk.left > 0) throw notAsStored()
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

export function decryptStream(
  streams: readonly EncryptedStream[],
  range: StoredRange,
  length: number,
  source: Extract<ObjectData, { kind: 'stream' }>,
): ObjectData {
  const walk = new Walk(streams, range, length)
  let current: BlobChunk | undefined
  let offset = 0
  let storedLeft = range.length
  let isClosed = false

  const letGo = () => {
    current?.release()
    current = undefined
  }
  const close = () => {
    if (isClosed) return
    isClosed = true
    letGo()
    source.close()
  }
  /** Reads the next piece of the source. If the stream was closed meanwhile, releases the piece (`close` has run already); returns false. */
  const advance = async (): Promise<boolean> => {
    letGo()
    const next = await source.next()
    if (isClosed) {
      next?.release()
      return false
    }
    if (next === undefined) throw notAsStored()
    current = next
    offset = 0
    return true
  }

  /** The next stored chunk: a view if it lies in one piece of the source, else a copy. Undefined if the stream was closed meanwhile. */
  const take = async (count: number): Promise<Buffer | undefined> => {
    if ((current === undefined || offset === current.bytes.length) && !(await advance())) return undefined
    if (current!.bytes.length - offset >= count) {
      offset += count
      return current!.bytes.subarray(offset - count, offset)
    }
    const joined = Buffer.allocUnsafe(count)
    for (let filled = 0; filled < count; ) {
      if (offset === current!.bytes.length && !(await advance())) return undefined
      const copied = current!.bytes.copy(joined, filled, offset)
      offset += copied
      filled += copied
    }
    return joined
  }

  return {
    kind: 'stream',
    async next() {
      while (!isClosed && storedLeft > 0) {
        const count = walk.nextBytes
        const stored = await take(count)
        if (stored === undefined || isClosed) return undefined
        storedLeft -= count
        const { plaintext, wanted } = walk.decryptNext(stored)
        if (offset === current?.bytes.length) letGo()
        if (wanted.length > 0) return { bytes: wanted, release: () => free(plaintext) }
      }
      return undefined
    },
    close,
  }
}
