/**
 * Releases references in the background: resolves in the record set which references no record has, then deletes their remote references in
 * the blob sets. Both are tried again until they succeed: so what a transaction in doubt has used or dropped is resolved once the record set
 * takes changes again. A blob without remote references is handled like one whose last record was deleted: it stays for `readWindowMs`, and
 * as long as somebody reads it. The orphan sweep of the next start finds references that are left when the server ends.
 */
import type { Clock, Logger } from 'svc/kernel'
import { idInSet, setOfBlob } from './blob-ids.ts'
import { blobOfReference, blobReferenceOf, noGroup } from './blob-references.ts'
import type { PoolSet } from './opening.ts'
import { procedure, type ReleaseArgs, type ResolveArgs, type Resolved } from './procedures.ts'

const referencesPerStep = 256
/** More than any commit deletes; further ones are left to the orphan sweep. */
const referencesMax = 200_000
const retryMs = 2000

export interface ReferenceReleaserOptions {
  /** By number; the first is the record set. */
  readonly sets: readonly PoolSet[]
  readonly clock: Clock
  readonly log: Logger
}

export class ReferenceReleaser {
  readonly #options: ReferenceReleaserOptions
  /** By the number of the set: references to blobs in it that are to be resolved, and whether a transaction in doubt may have them. */
  readonly #queues: readonly Map<string, boolean>[]
  readonly #working: (Promise<void> | undefined)[]
  #underWay = 0
  /** By the number of the set: cancels the timer until the next attempt after a failure. */
  readonly #resting = new Map<number, () => void>()
  #isClosed = false

  constructor(options: ReferenceReleaserOptions) {
    this.#options = options
    this.#queues = options.sets.map(() => new Map<string, boolean>())
    this.#working = options.sets.map(() => undefined)
  }

  /** Adds references that may be unused: a record has dropped them, or nobody came to use them, or a transaction in doubt did either. */
  add(references: readonly string[], isInDoubt = false): void {
    if (this.#isClosed || references.length === 0) return
    for (const reference of references) {
      const queue = this.#queues[setOfBlob(reference)]
      if (queue === undefined || queue.size >= referencesMax) continue
      put(queue, reference, isInDoubt)
      // A reference without a group is shared by all records, so it has to be resolved too.
      put(queue, blobReferenceOf(blobOfReference(reference), noGroup), isInDoubt)
      this.#work(setOfBlob(reference))
    }
  }

  /** References that wait, or are being resolved. */
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
    // Collects what is added in this turn of the event loop.
    await undefined
    let step: [string, boolean][] = []
    try {
      while (queue.size > 0 && !this.#isClosed) {
        step = [...take(queue, referencesPerStep)]
        this.#underWay += step.length
        const asked: ResolveArgs = {
          references: step.map(([reference]) => reference),
          isInDoubt: step.some(([, isInDoubt]) => isInDoubt),
        }
        const { unused, upTo } = await sets[0]!.backend.execute<Resolved>(procedure.resolve, asked)
        if (unused.length > 0) {
          const args: ReleaseArgs = { references: unused.map(idInSet), upTo }
          await sets[number]!.backend.execute(procedure.release, args)
        }
        this.#underWay -= step.length
        step = []
      }
    } catch (error) {
      log.debug(
        { err: error, set: number },
        'blobs that no record needs could not be deleted: they keep their space until the next attempt succeeds',
      )
      for (const [reference, isInDoubt] of step) put(queue, reference, isInDoubt)
      this.#underWay -= step.length
      if (this.#isClosed) return
      const cancel = clock.after(retryMs, () => {
        this.#resting.delete(number)
        if (queue.size > 0) this.#work(number)
      })
      this.#resting.set(number, cancel)
    }
  }

  /** Resolves when no step runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const cancel of this.#resting.values()) cancel()
    await Promise.all(this.#working)
  }
}

function put(queue: Map<string, boolean>, reference: string, isInDoubt: boolean): void {
  queue.set(reference, isInDoubt || queue.get(reference) === true)
}

/** Removes them from the queue, so that one that is added in the meantime is resolved again. */
function* take(queue: Map<string, boolean>, count: number): Generator<[string, boolean]> {
  for (const entry of queue) {
    if (count-- <= 0) return
    queue.delete(entry[0])
    yield entry
  }
}
