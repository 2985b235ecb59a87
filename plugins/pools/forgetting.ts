/**
 * Deletes the shadows of blobs to which no record refers any more, behind the answer. The set then treats the blob as one that has lost
 * its last record: it stays for `readWindowMs`, and as long as somebody reads it. What is not done when the server ends the next start does.
 */
import type { Clock, Logger } from 'svc/kernel'
import { idInSet, setOfBlob } from './blob-ids.ts'
import type { PoolSet } from './opening.ts'
import { procedure } from './procedures.ts'

const idsPerStep = 256
/** More than any commit deletes; of more the next start takes care. */
const idsMax = 200_000
const retryMs = 2000

export interface ForgettingOptions {
  readonly sets: readonly PoolSet[]
  readonly clock: Clock
  readonly log: Logger
}

export class Forgetting {
  readonly #options: ForgettingOptions
  /** By the number of the set. */
  readonly #queues: Set<string>[]
  readonly #working: (Promise<void> | undefined)[]
  readonly #timers = new Set<() => void>()
  #isClosed = false

  constructor(options: ForgettingOptions) {
    this.#options = options
    this.#queues = options.sets.map(() => new Set<string>())
    this.#working = options.sets.map(() => undefined)
  }

  /** Of blobs to which, for good, no record refers. */
  add(ids: readonly string[]): void {
    if (this.#isClosed) return
    for (const id of ids) {
      const number = setOfBlob(id)
      const queue = this.#queues[number]
      if (queue === undefined) continue
      if (queue.size < idsMax) queue.add(idInSet(id))
      this.#work(number)
    }
  }

  get count(): number {
    return this.#queues.reduce((sum, { size }) => sum + size, 0)
  }

  #work(number: number): void {
    if (this.#working[number] !== undefined || this.#isClosed) return
    this.#working[number] = this.#empty(number).finally(() => {
      this.#working[number] = undefined
    })
  }

  async #empty(number: number): Promise<void> {
    const queue = this.#queues[number]!
    const { backend } = this.#options.sets[number]!
    // What comes in one turn goes together.
    await undefined
    try {
      while (queue.size > 0 && !this.#isClosed) {
        const ids: string[] = []
        for (const id of queue) if (ids.push(id) >= idsPerStep) break
        await backend.execute(procedure.forget, ids)
        for (const id of ids) queue.delete(id)
      }
    } catch (error) {
      this.#options.log.debug(
        { err: error, set: number },
        'blobs that nobody needs could not be deleted; it is tried again',
      )
      const cancel = this.#options.clock.after(retryMs, () => {
        this.#timers.delete(cancel)
        if (queue.size > 0) this.#work(number)
      })
      this.#timers.add(cancel)
    }
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const cancel of this.#timers) cancel()
    await Promise.all(this.#working)
  }
}
