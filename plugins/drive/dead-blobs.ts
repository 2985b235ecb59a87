/**
 * Blobs without references, until their files may be deleted. A reader that got the record earlier may still read its blobs: for
 * `readWindowMs` after the last reference went, and after that as long as it has them pinned (`BlobPins`).
 *
 * - Blobs still listed here when the process ends are deleted as garbage after the next start.
 * - There is no time limit for a pin here. A reader that makes progress finishes, and the server cuts off clients that stop
 *   reading.
 * - A drive of a set may have to undo what it did, and may still get a record that refers to a blob: see `Finality`.
 */
import { type Clock, isCatalogError } from 'svc/kernel'
import type { Finality } from './api.ts'
import type { BlobMarks } from './blob-marks.ts'

const sweepMs = 250
/** Interval between checks of pinned blobs: they can be many, and stay pinned for long. */
const pinnedSweepMs = 1000
/** Most blobs that a sweep deletes or asks about: many may have waited for one change to be confirmed. */
const perSweepMax = 4000
/** Most blobs that wait, to bound memory: a set without a quorum may hold them for long. The clean-up after the next start deletes the others. */
const waitingMax = 200_000

export interface DeadBlobsOptions {
  readonly clock: Clock
  readonly readWindowMs: number
  readonly finality: Finality
  /** Whether any thread has pinned the blob. */
  isPinned(id: string): boolean
  /** Whether a record references the blob again: it was written anew, or a set has undone a change. */
  isReferenced(id: string): boolean
  /** Deletes the files of those that no record references by then, and calls `onDone` for each. */
  remove(ids: readonly string[], onDone: (id: string) => void): void
  /** Cancels the deletion if possible, otherwise waits for it: see `BlobFiles.keep`. */
  keep(id: string): Promise<void>
  /** Tells writers of given ids which blobs may be deleted. */
  readonly marks: BlobMarks
}

/** When the set was asked, in milliseconds of the monotonic clock, and in which term. */
interface Asked {
  readonly askedMs: number
  readonly term: number
}

export class DeadBlobs {
  readonly #options: DeadBlobsOptions
  /** By id, the monotonic time at which the blob lost its last reference; oldest first. */
  readonly #waiting = new Map<string, number>()
  /** Those that a set is being asked about. */
  readonly #asked = new Map<string, Asked>()
  /** By id, when the set was asked: it does not need them, if all that it knew then is final. */
  readonly #unneeded = new Map<string, Asked>()
  readonly #pinned = new Set<string>()
  /** Files being deleted, with the number of the sweep: a blob may die again before its file is gone. */
  readonly #going = new Map<string, number>()
  #sweepCount = 0
  #pinnedSweepAtMs = 0
  #cancelTimer: (() => void) | undefined
  #isClosed = false

  constructor(options: DeadBlobsOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#waiting.size + this.#asked.size + this.#unneeded.size + this.#pinned.size
  }

  has(id: string): boolean {
    const isKept = this.#waiting.has(id) || this.#asked.has(id) || this.#unneeded.has(id) || this.#pinned.has(id)
    return isKept || this.#going.has(id)
  }

  #forget(id: string): boolean {
    return [this.#waiting, this.#asked, this.#unneeded, this.#pinned].some(blobs => blobs.delete(id))
  }

  add(ids: readonly string[]): void {
    if (this.#isClosed) return
    const now = this.#now()
    for (const id of ids) {
      // It may have got a reference again meanwhile, and lost that one too: what was known of the former does not count.
      const isGoing = this.#going.delete(id)
      if (isGoing) void this.#options.keep(id)
      const isKnown = this.#forget(id) || isGoing
      if (!isKnown && this.count >= waitingMax) continue
      this.#waiting.set(id, now)
      if (!isKnown) this.#options.marks.onDying(id)
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
      try {
        this.#sweep()
      } catch (error) {
        // The drive has failed, and nobody knows any more which blobs are needed. The next start does.
        if (!isCatalogError(error)) throw error
        this.close()
      }
      this.#arm()
    })
  }

  #sweep(): void {
    const { readWindowMs, finality, isPinned, isReferenced, remove, marks } = this.#options
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
    const goes = (id: string) => {
      if (isPinned(id)) this.#pinned.add(id)
      else gone.push(id)
    }
    const { afterMs, beforeMs, term } = finality.look()
    for (const [id, asked] of this.#unneeded) {
      if (asked.term === term && asked.askedMs >= beforeMs) continue
      this.#unneeded.delete(id)
      if (asked.term === term) goes(id)
      else this.#waiting.set(id, now)
    }
    let count = 0
    for (const [id, diedMs] of this.#waiting) {
      if (now - diedMs <= readWindowMs || diedMs >= beforeMs || count >= perSweepMax) break
      if (diedMs <= afterMs) continue
      count++
      this.#waiting.delete(id)
      if (isReferenced(id)) {
        marks.onSettled(id)
        continue
      }
      const answer = finality.isNeeded(id)
      if (answer === false) goes(id)
      else {
        const asked = { askedMs: now, term }
        this.#asked.set(id, asked)
        void this.#ask(id, answer, asked)
      }
    }
    const sweep = ++this.#sweepCount
    const removable = gone.filter(id => {
      if (isReferenced(id)) {
        marks.onSettled(id)
        return false
      }
      this.#going.set(id, sweep)
      return true
    })
    if (removable.length > 0) remove(removable, id => this.#onGone(id, sweep))
  }

  async #ask(id: string, answer: Promise<boolean>, asked: Asked): Promise<void> {
    const isNeeded = await answer.catch(() => undefined)
    // Written anew meanwhile, or dead anew.
    if (this.#asked.get(id) !== asked || this.#isClosed) return
    this.#asked.delete(id)
    if (isNeeded === false) this.#unneeded.set(id, asked)
    // With the record it gets a reference again; if the record goes first, it is found here.
    else this.#waiting.set(id, this.#now())
    this.#arm()
  }

  #onGone(id: string, sweep: number): void {
    if (this.#going.get(id) !== sweep) return
    this.#going.delete(id)
    this.#options.marks.onSettled(id)
  }

  /** For a blob that is written anew: resolves when its file will not be deleted, unless it loses its references again. */
  async spare(id: string): Promise<void> {
    const hasWaited = this.#forget(id)
    const sweep = this.#going.get(id)
    // Whether or not it waits here: the file of an earlier death may be on its way out.
    await this.#options.keep(id)
    if (hasWaited) this.#options.marks.onSettled(id)
    if (sweep !== undefined) this.#onGone(id, sweep)
  }

  /** Leaves the remaining blobs to the next start. */
  close(): void {
    this.#isClosed = true
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }
}
