/**
 * A batch while it is being filled: the bytes of one journal write, and the transactions to settle when it is durable. The engine
 * alternates between two of them.
 */
import { allocateAligned, blockBytes } from './aligned-memory.ts'
import type { BatchPlace } from './journal.ts'
import { batchHeaderBytes, EntryWriter } from './journal-format.ts'

/** A body written with a batch, to be cached when the batch is durable. */
export interface WrittenBody {
  readonly segment: number
  readonly offset: number
  readonly bytes: Uint8Array
}

export class Batch<Outcome = unknown> {
  buffer: Buffer
  /** End of the header and the bodies written so far. */
  #bodyEnd = batchHeaderBytes
  readonly entries = new EntryWriter()
  transactionCount = 0
  place: BatchPlace = { segment: 0, offset: 0 }
  readonly outcomes: Outcome[] = []
  readonly bodies: WrittenBody[] = []
  /** The batch takes no further transaction beyond this size. */
  readonly softBytes: number
  #bodyEndBefore = 0
  #bodiesBefore = 0

  constructor(softBytes: number) {
    this.softBytes = softBytes
    this.buffer = allocateAligned(this.#usualBytes)
  }

  /** The soft limit plus one large transaction. */
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

  /** Empties the batch for reuse. The caller has taken the outcomes and settles them. */
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
    // At least one byte, so that every body has its own location.
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

  /** Copies the transactions behind the bodies. Nothing may be added afterwards. */
  seal(): void {
    this.#reserve(this.length)
    this.entries.bytes.copy(this.buffer, this.#bodyEnd, 0, this.entries.length)
  }

  /** Keeps a block free at the end for padding. */
  #reserve(size: number): void {
    const needed = size + blockBytes
    if (needed <= this.buffer.length) return
    const larger = allocateAligned(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.#bodyEnd)
    this.buffer = larger
  }
}
