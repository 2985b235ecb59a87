/**
 * The memory that a thread of requests shares with its digest thread. Each stream has a ring of bytes, a line of words, and room for its
 * digests. The states of a stream, and who makes the transitions:
 *
 * | from | to | by | when |
 * |---|---|---|---|
 * | free | open | requests | a body begins |
 * | open | ended | requests | all its bytes are in the ring |
 * | ended | done | digests | the digests are written, and the thread remembers nothing of the stream |
 * | done | free | requests | the digests were read |
 * | open, ended | given up | requests | the body is abandoned |
 * | given up | free | digests | the thread remembers nothing of the stream |
 *
 * 1. Only the digest thread frees a stream that is open, so a ring is never written by a new body while it is read for the old one.
 * 2. `written` and `consumed` count bytes and wrap around at 2³²; their difference is at most `ringBytes`. Each has one writer.
 * 3. The bytes of a ring below `written` do not change until they are consumed.
 */

export const streamsMax = 32
/** A power of two, and so a divisor of 2³². */
export const ringBytes = 524_288
/** A stream with so many bytes that wait is worth a digest. */
export const enoughBytes = 262_144

export const State = { free: 0, open: 1, ended: 2, done: 3, givenUp: 4 } as const
/** Words of a stream, by their offset. `algorithm`: the index in the list of algorithms, or -1. `isWaiting`: its sender waits for room. */
export const Word = { state: 0, written: 1, consumed: 2, algorithm: 3, withMd5: 4, isWaiting: 5 } as const
/** Words of all: how often there was something to do; whether the thread has begun. */
export const kicksAt = 0
export const isReadyAt = 1

/** A line of the caches, so that streams do not disturb each other. */
const wordsPerLine = 16
const md5Bytes = 16
const digestBytes = 128
const digestsAt = 4 * wordsPerLine * (streamsMax + 1)
const ringsAt = digestsAt + digestBytes * streamsMax

export class DigestMemory {
  readonly shared: SharedArrayBuffer
  readonly words: Int32Array
  readonly #bytes: Buffer

  constructor(shared = new SharedArrayBuffer(ringsAt + ringBytes * streamsMax)) {
    this.shared = shared
    this.words = new Int32Array(shared, 0, wordsPerLine * (streamsMax + 1))
    this.#bytes = Buffer.from(shared)
  }

  /** Where the words of a stream begin. */
  lineOf(stream: number): number {
    return wordsPerLine * (stream + 1)
  }

  /** The bytes of a ring from a position that `written` or `consumed` counts: at most `count`, and none beyond the end of the ring. */
  piece(stream: number, position: number, count: number): Buffer {
    const offset = position & (ringBytes - 1)
    const from = ringsAt + ringBytes * stream + offset
    return this.#bytes.subarray(from, from + Math.min(count, ringBytes - offset))
  }

  md5(stream: number): Buffer {
    const from = digestsAt + digestBytes * stream
    return this.#bytes.subarray(from, from + md5Bytes)
  }

  /** Room for the longest checksum. */
  checksum(stream: number): Buffer {
    const from = digestsAt + digestBytes * stream + md5Bytes
    return this.#bytes.subarray(from, from + digestBytes - md5Bytes)
  }
}
