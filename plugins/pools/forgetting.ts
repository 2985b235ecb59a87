/**
 * Deletes the shadows of claims that no record has any more, behind the answer. When its last shadow has gone, the set treats the blob as
 * one that has lost its last record: it stays for `readWindowMs`, and as long as somebody reads it. What is not done when the server ends
 * the next start does.
 */
import type { Clock, Logger } from 'svc/kernel'
import { idInSet, setOfBlob } from './blob-ids.ts'
import type { PoolSet } from './opening.ts'
import { type ForgetArgs, procedure } from './procedures.ts'

const claimsPerStep = 256
/** More than any commit deletes; of more the next start takes care. */
const claimsMax = 200_000
const retryMs = 2000

export interface ForgettingOptions {
  readonly sets: readonly PoolSet[]
  readonly clock: Clock
  readonly log: Logger
}

export class Forgetting {
  readonly #options: ForgettingOptions
  /** By the number of the set: claims there, and the grants that are meant. */
  readonly #queues: Map<string, number>[]
  readonly #working: (Promise<void> | undefined)[]
  readonly #timers = new Set<() => void>()
  #isClosed = false

  constructor(options: ForgettingOptions) {
    this.#options = options
    this.#queues = options.sets.map(() => new Map<string, number>())
    this.#working = options.sets.map(() => undefined)
  }

  /** Claims that no record has, and none will have but by a grant after `upTo`. */
  add(claims: readonly string[], upTo: number): void {
    if (this.#isClosed) return
    for (const claim of claims) {
      const number = setOfBlob(claim)
      const queue = this.#queues[number]
      if (queue === undefined) continue
      const inSet = idInSet(claim)
      if (queue.has(inSet) || queue.size < claimsMax) queue.set(inSet, upTo)
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
        const claims: string[] = []
        let upTo = 0
        // Those of one transaction follow each other.
        for (const [claim, meant] of queue) {
          if (claims.length > 0 && meant !== upTo) break
          upTo = meant
          if (claims.push(claim) >= claimsPerStep) break
        }
        const args: ForgetArgs = { claims, upTo }
        await backend.execute(procedure.forget, args)
        // One that was added again meanwhile is to be looked at again.
        for (const claim of claims) if (queue.get(claim) === upTo) queue.delete(claim)
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
