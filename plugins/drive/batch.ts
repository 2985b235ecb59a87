/** A batch while it is filled: the bytes of one journal write, and whom to tell when it is durable. */
import { allocateAligned, blockBytes } from './aligned-memory.ts'
import type { BatchPlace } from './journal.ts'
import { batchHeaderBytes, type EntryWriter, transactionHeaderBytes } from './journal-format.ts'

/** A body that was written with a batch, to be cached once it is durable. */
export interface WrittenBody {
  readonly segment: number
  readonly offset: number
  readonly bytes: Uint8Array
}

export class Batch<Outcome = unknown> {
  buffer: Buffer
  /** Bytes filled. */
  length = 0
  transactionCount = 0
  place: BatchPlace = { segment: 0, offset: 0 }
  readonly outcomes: Outcome[] = []
  readonly bodies: WrittenBody[] = []
  /** Beyond this it takes no further transaction. */
  readonly softBytes: number
  #transactionStart = 0
  #bodiesBefore = 0

  constructor(softBytes: number) {
    this.softBytes = softBytes
    this.buffer = allocateAligned(this.#usualBytes)
  }

  /** The soft limit and one large transaction on top. */
  get #usualBytes(): number {
    return 2 * this.softBytes
  }

  begin(place: BatchPlace): void {
    if (this.buffer.length > Math.max(65_536, this.#usualBytes)) this.buffer = allocateAligned(this.#usualBytes)
    this.place = place
    this.length = batchHeaderBytes
    this.transactionCount = 0
  }

  /** Empties it after use; the outcomes are the caller's to settle. */
  clear(): void {
    this.length = 0
    this.transactionCount = 0
    this.outcomes.length = 0
    this.bodies.length = 0
  }

  get isFull(): boolean {
    return this.length >= this.softBytes
  }

  beginTransaction(): void {
    this.#transactionStart = this.length
    this.#bodiesBefore = this.bodies.length
    this.length += transactionHeaderBytes
  }

  cancelTransaction(): void {
    this.length = this.#transactionStart
    this.bodies.length = this.#bodiesBefore
  }

  /** Returns the body's offset in the segment. */
  writeBody(body: Uint8Array): number {
    // One byte at least, so that every body has a place of its own.
    const size = Math.max(1, body.length)
    this.#reserve(size)
    const at = this.length
    this.buffer.set(body, at)
    this.length += size
    const offset = this.place.offset + at
    this.bodies.push({ segment: this.place.segment, offset, bytes: body })
    return offset
  }

  endTransaction(sequence: number, entries: EntryWriter): void {
    const bodyBytes = this.length - this.#transactionStart - transactionHeaderBytes
    this.#reserve(entries.length)
    const { buffer } = this
    entries.bytes.copy(buffer, this.length, 0, entries.length)
    this.length += entries.length
    const head = this.#transactionStart
    buffer.writeUInt32LE(entries.length, head)
    buffer.writeUInt32LE(bodyBytes, head + 4)
    buffer.writeDoubleLE(sequence, head + 8)
    this.transactionCount++
  }

  /** Keeps a page free at the end for the padding. */
  #reserve(extra: number): void {
    const needed = this.length + extra + blockBytes
    if (needed <= this.buffer.length) return
    const larger = allocateAligned(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
}
