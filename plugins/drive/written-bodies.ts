/**
 * Bodies that were written lately, in one ring of memory, for `BodyReader`. Most of them are overwritten before anybody reads them: kept as
 * buffers of their own they would grow old first, and only full collections of V8 free what is old.
 */

/** A larger part of the ring is not given to one body. */
const shareMax = 4
/** Positions are below this, as are sizes. */
const span = 2 ** 26
/** What a body takes besides its bytes: its place in the map and the queue. So much of the ring is left empty behind each. */
const entryBytes = 128
/** Entries of the queue that have been taken out before it is cut. */
const cutAfter = 4096

export class WrittenBodies {
  /** Bytes that it may take. */
  readonly capacity: number
  #ring: Buffer | undefined
  /** Where the next body goes. */
  #head = 0
  /** By location: position × `span` + size. */
  readonly #places = new Map<number, number>()
  /** Locations in the order in which they were written. Those that were taken are still among them. */
  #queue: number[] = []
  #queueHead = 0
  #bytes = 0

  /** `capacity`: bytes; at most 64 MiB are used. */
  constructor(capacity: number) {
    this.capacity = Math.min(capacity, span - 1)
  }

  /** Bytes that the bodies in it take. */
  get bytes(): number {
    return this.#bytes
  }

  /** Copies a body in; the oldest ones give way. A large one is not taken. */
  add(location: number, body: Uint8Array): void {
    const size = body.length + entryBytes
    if (size * shareMax > this.capacity) return
    this.#ring ??= Buffer.allocUnsafeSlow(this.capacity)
    if (this.#head + size > this.capacity) {
      this.#makeRoom(this.capacity)
      this.#head = 0
    }
    this.#makeRoom(this.#head + size)
    this.#ring.set(body, this.#head)
    this.#places.set(location, this.#head * span + body.length)
    this.#queue.push(location)
    this.#bytes += size
    this.#head += size
  }

  /** Drops the bodies between the head and `end`: the oldest ones, if there are any. */
  #makeRoom(end: number): void {
    for (; this.#queueHead < this.#queue.length; this.#queueHead++) {
      const location = this.#queue[this.#queueHead]!
      const place = this.#places.get(location)
      if (place === undefined) continue
      const start = Math.floor(place / span)
      if (start < this.#head || start >= end) break
      this.#places.delete(location)
      this.#bytes -= (place % span) + entryBytes
    }
    if (this.#queueHead < cutAfter) return
    this.#queue = this.#queue.slice(this.#queueHead)
    this.#queueHead = 0
  }

  /** A copy of the body, which is dropped here; undefined if it is not there. */
  take(location: number): Buffer | undefined {
    const place = this.#places.get(location)
    if (place === undefined) return undefined
    const start = Math.floor(place / span)
    const size = place % span
    this.#places.delete(location)
    this.#bytes -= size + entryBytes
    const copy = Buffer.allocUnsafeSlow(size)
    copy.set(this.#ring!.subarray(start, start + size))
    return copy
  }

  clear(): void {
    this.#places.clear()
    this.#queue = []
    this.#queueHead = 0
    this.#bytes = 0
    this.#ring = undefined
    this.#head = 0
  }
}
