/**
 * Blobs that no record references any more, until their files may go. Whoever got a record before may still read its blobs: for
 * `readWindowMs` after the reference went, and from then on as long as it holds them (see `BlobPins`).
 *
 * Nothing leaks: what is still here when the process ends is collected after the next start. How long a reader may hold a blob is
 * not limited here: one that makes progress gets to the end, and clients that stop reading are cut off by the server.
 */
import type { Clock } from 'svc/kernel'
import type { BlobMarks } from './blob-marks.ts'

const sweepMs = 250
/** Looks at held blobs are this far apart: there may be many, and they are held for long. */
const pinnedSweepMs = 1000

export interface DeadBlobsOptions {
  readonly clock: Clock
  readonly readWindowMs: number
  /** Whether any thread is reading it. */
  isPinned(id: string): boolean
  /** Whether a record references it after all. Not expected, unless it was written anew. */
  isReferenced(id: string): boolean
  /** Deletes the files, and calls `onDone` for each. */
  remove(ids: readonly string[], onDone: (id: string) => void): void
  /** Takes it back where that is still possible, and waits for it where it is not: see `BlobFiles.keep`. */
  keep(id: string): Promise<void>
  /** Shows them to those who write blobs of given ids. */
  readonly marks: BlobMarks
}

export class DeadBlobs {
  readonly #options: DeadBlobsOptions
  /** When they died, in milliseconds of the clock that never goes back; in that order. */
  readonly #waiting = new Map<string, number>()
  readonly #pinned = new Set<string>()
  /** Being deleted. */
  readonly #going = new Set<string>()
  #pinnedSweepAtMs = 0
  #cancelTimer: (() => void) | undefined
  #isClosed = false

  constructor(options: DeadBlobsOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#waiting.size + this.#pinned.size
  }

  has(id: string): boolean {
    return this.#waiting.has(id) || this.#pinned.has(id) || this.#going.has(id)
  }

  add(ids: readonly string[]): void {
    if (this.#isClosed) return
    const now = this.#now()
    for (const id of ids) {
      if (this.has(id)) continue
      this.#waiting.set(id, now)
      this.#options.marks.onDying(id)
    }
    this.#arm()
  }

  #now(): number {
    return Number(this.#options.clock.monotonicNs() / 1_000_000n)
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined || this.#isClosed || this.count === 0) return
    this.#cancelTimer = this.#options.clock.after(Math.min(sweepMs, this.#options.readWindowMs), () => {
      this.#cancelTimer = undefined
      this.#sweep()
      this.#arm()
    })
  }

  #sweep(): void {
    const { readWindowMs, isPinned, isReferenced, remove, marks } = this.#options
    const now = this.#now()
    const gone: string[] = []
    if (now >= this.#pinnedSweepAtMs) {
      this.#pinnedSweepAtMs = now + Math.min(pinnedSweepMs, readWindowMs)
      for (const id of this.#pinned) {
        if (isPinned(id)) continue
        this.#pinned.delete(id)
        gone.push(id)
      }
    }
    for (const [id, diedMs] of this.#waiting) {
      if (now - diedMs <= readWindowMs) break
      this.#waiting.delete(id)
      if (isPinned(id)) this.#pinned.add(id)
      else gone.push(id)
    }
    const removable = gone.filter(id => {
      if (isReferenced(id)) marks.onSettled(id)
      else this.#going.add(id)
      return this.#going.has(id)
    })
    if (removable.length > 0) remove(removable, this.#onGone)
  }

  readonly #onGone = (id: string): void => {
    if (this.#going.delete(id)) this.#options.marks.onSettled(id)
  }

  /** For one that is written anew: resolves when its file will not be deleted any more, unless it dies again. */
  async spare(id: string): Promise<void> {
    if (this.#waiting.delete(id) || this.#pinned.delete(id)) this.#options.marks.onSettled(id)
    if (!this.#going.has(id)) return
    await this.#options.keep(id)
    this.#onGone(id)
  }

  /** Leaves what is left to the next start. */
  close(): void {
    this.#isClosed = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }
}
