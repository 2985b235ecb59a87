/**
 * Finds orphaned remote references, which no record needs: their record was never committed, or was deleted just before the server ended.
 * Runs once after each start, in the background (worker `compare` in `index.ts`).
 *
 * It looks only at remote references of earlier runs: commits of this run may still use those of this run. Whether a record needs one is
 * resolved in the record set by a procedure, which sees all earlier changes. If it finds an orphan it makes a change itself, so its answer
 * implies that everything it has seen is on the write quorum.
 */
import type { Logger } from 'svc/kernel'
import { blobIdFrom, idInSet } from './blob-ids.ts'
import type { PoolSet } from './opening.ts'
import { procedure, type ReleaseArgs, type ResolveArgs, type Resolved } from './procedures.ts'
import { isOfRun, referenceFromKey, remoteReferenceEnd, remoteReferenceStart } from './remote-references.ts'

const referencesPerStep = 512

export interface OrphanSweepOptions {
  /** By number; the first is the record set. */
  readonly sets: readonly PoolSet[]
  readonly run: Uint8Array
  readonly log: Logger
}

export class OrphanSweep {
  readonly #options: OrphanSweepOptions
  /** Number of the set that is read now. */
  #number = 1
  #from: Buffer = remoteReferenceStart
  /** Remote references that were read, and those that were deleted. */
  looked = 0
  deleted = 0

  constructor(options: OrphanSweepOptions) {
    this.#options = options
  }

  /** Identity of this run of the server. */
  get run(): Uint8Array {
    return this.#options.run
  }

  get isDone(): boolean {
    return this.#number >= this.#options.sets.length
  }

  /** Checks some. Rejects if a set does not answer; the caller tries again. */
  async step(): Promise<void> {
    if (this.isDone) return
    const { sets, run, log } = this.#options
    const { backend, number } = sets[this.#number]!
    const { references, next } = await backend.scan(this.#from, remoteReferenceEnd, cursor => {
      const found: string[] = []
      let more = cursor.next()
      let count = 0
      for (; more && count < referencesPerStep; count++) {
        if (!isOfRun(cursor.value, run)) found.push(referenceFromKey(cursor.key))
        more = cursor.next()
      }
      this.looked += count
      return { references: found, next: more ? Buffer.from(cursor.key) : undefined }
    })
    if (references.length > 0) {
      const asked: ResolveArgs = { references: references.map(reference => blobIdFrom(reference, number)) }
      const { unused } = await sets[0]!.backend.execute<Resolved>(procedure.resolve, asked)
      if (unused.length > 0) {
        const args: ReleaseArgs = { references: unused.map(idInSet), upTo: 0 }
        await backend.execute(procedure.release, args)
        this.deleted += unused.length
        log.info({ count: unused.length, set: number }, 'deleted blobs to which no record refers')
      }
    }
    if (next !== undefined) {
      this.#from = next
      return
    }
    this.#number++
    this.#from = remoteReferenceStart
  }
}
