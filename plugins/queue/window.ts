/**
 * The entries of a lane that are in memory: a bounded piece of what waits, in order. An entry is in one of these states; it counts
 * until it is forgotten, so that memory never exceeds the window.
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
 * 2. What is not ready holds back only entries with the same key.
 */

/** At most this many entries, and these bytes of payloads and one entry more. */
export const windowEntriesMax = 1000
export const windowBytesMax = 8 * 1024 * 1024

/** An entry in memory. */
export interface Held {
  readonly id: string
  readonly recordKey: Buffer
  readonly key: string
  readonly size: number
  readonly queuedMs: number
  /** Undefined where it lies beside the record and is read when it is sent. */
  readonly payload: Buffer | undefined
  /** Failed ones, since it came into memory. */
  attempts: number
  /** On the clock that never goes back. */
  notBeforeMs: number
  /** To be sent by itself: it failed for good together with others. */
  isAlone: boolean
}

export class Window {
  #waiting: Held[] = []
  readonly #busyKeys = new Set<string>()
  #entries = 0
  #bytes = 0
  /** Some may wait for a time. */
  #hasDelays = false

  /** All that are in memory, whatever their state. */
  get size(): number {
    return this.#entries
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  get isFull(): boolean {
    return this.#entries >= windowEntriesMax || this.#bytes >= windowBytesMax
  }

  /** There is enough room to be worth a look at what else waits. */
  get isHalfEmpty(): boolean {
    return this.#entries <= windowEntriesMax / 2 && this.#bytes <= windowBytesMax / 2
  }

  /** Behind all others: the id is larger than every one that was added before. */
  add(entry: Held): void {
    this.#waiting.push(entry)
    this.#entries++
    this.#bytes += entry.size
  }

  /**
   * The next batch, in order; empty when nothing is ready. An entry that has failed n times goes with at most batchMax / 2^n others, so
   * that one that always fails comes to be alone. `attemptsMax`: only what has not failed more often.
   */
  take(nowMs: number, batchMax: number, attemptsMax = Number.POSITIVE_INFINITY): Held[] {
    const batch: Held[] = []
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

  /** How often those of the entries that could be taken have failed that have failed least; Infinity where there are none. */
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

  /** Entries that were under way wait again, in their places. */
  putBack(entries: readonly Held[]): void {
    this.release(entries)
    this.#hasDelays = true
    // Ids are of one length.
    this.#waiting = [...this.#waiting, ...entries].sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Entries that were under way have been sent. */
  release(entries: readonly Held[]): void {
    for (const { key } of entries) this.#busyKeys.delete(key)
  }

  /** Entries that were sent are gone from storage. */
  forget(entries: readonly Held[]): void {
    for (const { size } of entries) {
      this.#entries--
      this.#bytes -= size
    }
  }

  /** Forgets those waiting whose id is below. */
  discard(below: string): void {
    const gone = this.#waiting.filter(({ id }) => id < below)
    this.#waiting = this.#waiting.filter(({ id }) => id >= below)
    this.forget(gone)
  }

  /** When the next entry that is not ready becomes so; Infinity where there is none. */
  nextMs(nowMs: number): number {
    let next = Number.POSITIVE_INFINITY
    if (!this.#hasDelays) return next
    for (const { notBeforeMs } of this.#waiting) if (notBeforeMs > nowMs && notBeforeMs < next) next = notBeforeMs
    this.#hasDelays = next !== Number.POSITIVE_INFINITY
    return next
  }

  /** Nothing waits for a time any more. */
  makeReady(): void {
    for (const entry of this.#waiting) entry.notBeforeMs = 0
  }
}
