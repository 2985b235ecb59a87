/**
 * Deletes remote references that no record needs any more, behind the answer: first it is settled in the set of the records which references those are, then
 * they are forgotten in theirs. When its last remote reference has gone, a set treats the blob as one that has lost its last record: it stays for
 * `readWindowMs`, and as long as somebody reads it. What is not done when the server ends the next start does.
 */
import type { Clock, Logger } from 'svc/kernel'
import { idInSet, setOfBlob } from './blob-ids.ts'
import { blobOfReference, blobReferenceOf, noGroup } from './blob-references.ts'
import type { PoolSet } from './opening.ts'
import { procedure, type ReleaseArgs, type Resolved } from './procedures.ts'

const referencesPerStep = 256
/** More than any commit deletes; of more the next start takes care. */
const referencesMax = 200_000
const retryMs = 2000

export interface ReferenceReleaserOptions {
  /** By number; the first has the records. */
  readonly sets: readonly PoolSet[]
  readonly clock: Clock
  readonly log: Logger
}

export class ReferenceReleaser {
  readonly #options: ReferenceReleaserOptions
  /** By the number of the set: references there. What is settled is for the first. */
  readonly #queues: readonly Set<string>[]
  readonly #working: (Promise<void> | undefined)[]
  #underWay = 0
  /** Until something that has failed is tried again. */
  readonly #resting = new Map<number, () => void>()
  #isClosed = false

  constructor(options: ReferenceReleaserOptions) {
    this.#options = options
    this.#queues = options.sets.map(() => new Set<string>())
    this.#working = options.sets.map(() => undefined)
  }

  /** References that records may have, or not: each that a record has let go of, or that nobody came to use. */
  add(references: readonly string[]): void {
    if (this.#isClosed || references.length === 0) return
    for (const reference of references) {
      const queue = this.#queues[setOfBlob(reference)]
      if (queue === undefined || queue.size >= referencesMax) continue
      queue.add(reference)
      // What was referred to before there were groups is kept by every record.
      queue.add(blobReferenceOf(blobOfReference(reference), noGroup))
      this.#work(setOfBlob(reference))
    }
  }

  /** References that wait, or are being looked at. */
  get count(): number {
    return this.#queues.reduce((sum, { size }) => sum + size, this.#underWay)
  }

  #work(number: number): void {
    if (this.#isClosed || this.#working[number] !== undefined || this.#resting.has(number)) return
    this.#working[number] = this.#empty(number).finally(() => {
      this.#working[number] = undefined
      if (this.#queues[number]!.size > 0) this.#work(number)
    })
  }

  async #empty(number: number): Promise<void> {
    const queue = this.#queues[number]!
    const { sets, clock, log } = this.#options
    // What comes in one turn goes together.
    await undefined
    let step: string[] = []
    try {
      while (queue.size > 0 && !this.#isClosed) {
        step = [...take(queue, referencesPerStep)]
        this.#underWay += step.length
        const { unused, upTo } = await sets[0]!.backend.execute<Resolved>(procedure.resolve, step)
        if (unused.length > 0) {
          const args: ReleaseArgs = { references: unused.map(idInSet), upTo }
          await sets[number]!.backend.execute(procedure.release, args)
        }
        this.#underWay -= step.length
        step = []
      }
    } catch (error) {
      log.debug({ err: error, set: number }, 'blobs that nobody needs could not be deleted; it is tried again')
      for (const reference of step) queue.add(reference)
      this.#underWay -= step.length
      if (this.#isClosed) return
      const cancel = clock.after(retryMs, () => {
        this.#resting.delete(number)
        if (queue.size > 0) this.#work(number)
      })
      this.#resting.set(number, cancel)
    }
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const cancel of this.#resting.values()) cancel()
    await Promise.all(this.#working)
  }
}

/** Takes them out: one that is added meanwhile is looked at again. */
function* take(queue: Set<string>, count: number): Generator<string> {
  for (const reference of queue) {
    if (count-- <= 0) return
    queue.delete(reference)
    yield reference
  }
}
