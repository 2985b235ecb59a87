/**
 * The entries of a queue that are in memory: a bounded part of the queue, in order. An entry counts in every state until it is
 * forgotten, so memory never exceeds the window.
 *
 * | State | Its key | Next |
 * |---|---|---|
 * | waiting | free, unless an earlier entry with it waits or is under way | `take`: under way; `discard`: forgotten |
 * | under way | busy: no other batch may have an entry with it | `release`: sent; `putBack`: waiting |
 * | sent | free | `forget`, once its record is gone |
 *
 * Invariants, cited by the tests:
 *
 * 1. Entries with the same key are taken in the order of their ids, and no key is in two batches.
 * 2. An entry that is not ready delays only entries with the same key.
 */

/** At most this many entries, and this many bytes of payloads plus one entry. */
export const windowEntriesMax = 1000
export const windowBytesMax = 8 * 1024 * 1024

/** An entry in memory. */
export interface LoadedEntry {
  readonly id: string
  readonly recordKey: Buffer
  readonly key: string
  readonly size: number
  readonly queuedMs: number
  /** Undefined if the payload is the body of the record, which is read before the entry is sent. */
  readonly payload: Buffer | undefined
  /** Failed attempts since it was loaded. */
  attempts: number
  /** On the monotonic clock. */
  notBeforeMs: number
  /** Whether the entry is sent in a batch of its own, because a batch of several failed permanently. */
  isAlone: boolean
}

export class Window {
  #waiting: LoadedEntry[] = []
  readonly #busyKeys = new Set<string>()
  #entries = 0
  #bytes = 0
  /** Some entries may have a `notBeforeMs` in the future. */
  #hasDelays = false

  /** Entries in memory, in every state. */
  get size(): number {
    return this.#entries
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  get isFull(): boolean {
    return this.#entries >= windowEntriesMax || this.#bytes >= windowBytesMax
  }

  /** Whether there is enough room for another scan. */
  get isHalfEmpty(): boolean {
    return this.#entries <= windowEntriesMax / 2 && this.#bytes <= windowBytesMax / 2
  }

  /** Adds an entry with a larger id than all entries before. */
  add(entry: LoadedEntry): void {
    this.#waiting.push(entry)
    this.#entries++
    this.#bytes += entry.size
  }

  /**
   * Returns the next batch, in order; an empty one if no entry is ready. An entry that has failed n times is in a batch of at most
   * batchMax / 2^n, so an entry that always fails ends up alone. Entries that have failed more than `attemptsMax` times are left out.
   */
  take(nowMs: number, batchMax: number, attemptsMax = Number.POSITIVE_INFINITY): LoadedEntry[] {
    const batch: LoadedEntry[] = []
    const waiting = this.#waiting
    const blocked = new Set<string>()
    let sizeMax = batchMax
    let isPrefix = true
    for (const entry of waiting) {
      if (batch.length >= sizeMax) break
      const { key } = entry
      if (key !== '' && (this.#busyKeys.has(key) || blocked.has(key))) {
        isPrefix = false
        continue
      }
      const ownMax = entry.isAlone ? 1 : Math.max(1, batchMax >> Math.min(entry.attempts, 30))
      const isReady = entry.notBeforeMs <= nowMs && entry.attempts <= attemptsMax
      if (!isReady || batch.length + 1 > ownMax) {
        isPrefix = false
        if (key !== '') blocked.add(key)
        continue
      }
      batch.push(entry)
      sizeMax = Math.min(sizeMax, ownMax)
    }
    if (batch.length === 0) return batch
    for (const { key } of batch) if (key !== '') this.#busyKeys.add(key)
    if (isPrefix) waiting.splice(0, batch.length)
    else {
      const taken = new Set(batch)
      this.#waiting = waiting.filter(entry => !taken.has(entry))
    }
    return batch
  }

  /** The smallest number of failed attempts among the entries that could be taken. Infinity if there is none. */
  fewestAttempts(nowMs: number): number {
    let fewest = Number.POSITIVE_INFINITY
    const seen = new Set<string>()
    for (const { key, attempts, notBeforeMs } of this.#waiting) {
      if (key !== '') {
        if (seen.has(key) || this.#busyKeys.has(key)) continue
        seen.add(key)
      }
      if (notBeforeMs <= nowMs && attempts < fewest) fewest = attempts
      if (fewest === 0) break
    }
    return fewest
  }

  /** Returns entries that were under way to their places in the order. */
  putBack(entries: readonly LoadedEntry[]): void {
    this.release(entries)
    this.#hasDelays = true
    // All ids have the same length, so they can be compared as text.
    this.#waiting = [...this.#waiting, ...entries].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Entries that were under way have been sent. */
  release(entries: readonly LoadedEntry[]): void {
    for (const { key } of entries) this.#busyKeys.delete(key)
  }

  /** Entries were deleted from storage. */
  forget(entries: readonly LoadedEntry[]): void {
    for (const { size } of entries) {
      this.#entries--
      this.#bytes -= size
    }
  }

  /** Forgets waiting entries with smaller ids. */
  discard(below: string): void {
    const gone = this.#waiting.filter(({ id }) => id < below)
    this.#waiting = this.#waiting.filter(({ id }) => id >= below)
    this.forget(gone)
  }

  /** When the next entry becomes ready; Infinity when none is delayed. */
  nextMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY
    if (!this.#hasDelays) return next
    for (const { notBeforeMs } of this.#waiting) if (notBeforeMs > nowMs && notBeforeMs < next) next = notBeforeMs
    this.#hasDelays = next !== Number.POSITIVE_INFINITY
    return next
  }

  /** Makes all entries ready at once. */
  makeReady(): void {
    for (const entry of this.#waiting) entry.notBeforeMs = 0
  }
}
