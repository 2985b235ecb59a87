/** A batch while it is filled: the bytes of one journal write, and whom to tell when it is durable. */
import { allocateAligned, blockBytes } from './aligned-memory.ts'
import type { BatchPlace } from './journal.ts'
import { batchHeaderBytes, EntryWriter } from './journal-format.ts'

/** A body that was written with a batch, to be cached once it is durable. */
export interface WrittenBody {
  readonly segment: number
  readonly offset: number
  readonly bytes: Uint8Array
}

export class Batch<Outcome = unknown> {
  buffer: Buffer
  /** The header and the bodies that have been filled in. */
  #bodyEnd = batchHeaderBytes
  readonly entries = new EntryWriter()
  transactionCount = 0
  place: BatchPlace = { segment: 0, offset: 0 }
  readonly outcomes: Outcome[] = []
  readonly bodies: WrittenBody[] = []
  /** Beyond this it takes no further transaction. */
  readonly softBytes: number
  #bodyEndBefore = 0
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
    this.#bodyEnd = batchHeaderBytes
    this.entries.length = 0
    this.transactionCount = 0
  }

  /** Bytes of the batch so far, without padding. */
  get length(): number {
    return this.#bodyEnd + this.entries.length
  }

  get bodyBytes(): number {
    return this.#bodyEnd - batchHeaderBytes
  }

  /** Empties it after use; the outcomes are the caller's to settle. */
  clear(): void {
    this.#bodyEnd = batchHeaderBytes
    this.entries.length = 0
    this.transactionCount = 0
    this.outcomes.length = 0
    this.bodies.length = 0
  }

  get isFull(): boolean {
    return this.length >= this.softBytes
  }

  beginTransaction(): void {
    this.#bodyEndBefore = this.#bodyEnd
    this.#bodiesBefore = this.bodies.length
    this.entries.begin()
  }

  cancelTransaction(): void {
    this.#bodyEnd = this.#bodyEndBefore
    this.bodies.length = this.#bodiesBefore
    this.entries.cancel()
  }

  /** Returns the body's offset in the segment. */
  writeBody(body: Uint8Array): number {
    // One byte at least, so that every body has a place of its own.
    const size = Math.max(1, body.length)
    const at = this.#bodyEnd
    this.#reserve(at + size)
    this.buffer.set(body, at)
    this.#bodyEnd += size
    const offset = this.place.offset + at
    this.bodies.push({ segment: this.place.segment, offset, bytes: body })
    return offset
  }

  endTransaction(sequence: number): void {
    this.entries.end(sequence)
    this.transactionCount++
  }

  /** Puts the transactions behind the bodies: after this nothing more is added. */
  seal(): void {
    this.#reserve(this.length)
    this.entries.bytes.copy(this.buffer, this.#bodyEnd, 0, this.entries.length)
  }

  /** Keeps a page free at the end for the padding. */
  #reserve(size: number): void {
    const needed = size + blockBytes
    if (needed <= this.buffer.length) return
    const larger = allocateAligned(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.#bodyEnd)
    this.buffer = larger
  }
}
