/**
 * Finds remote references that no record needs: those of blobs whose record never came, or went just before the server ended. Once in each run,
 * in the background.
 *
 * Only remote references of former runs are looked at: a commit of this run may still come to use what this run has granted, and nothing else that no
 * record has. Whether a record needs one is asked in the set of the records, by a procedure: it sees all earlier changes, and changes
 * something itself when it finds one, so that what it has seen is on the write quorum when it answers.
 */
import type { Logger } from 'svc/kernel'
import { blobIdFrom, idInSet } from './blob-ids.ts'
import type { PoolSet } from './opening.ts'
import { procedure, type ReleaseArgs, type Resolved } from './procedures.ts'
import { isOfRun, referenceFromKey, remoteReferenceEnd, remoteReferenceStart } from './remote-references.ts'

const referencesPerStep = 512

export interface OrphanSweepOptions {
  /** By number; the first has the records. */
  readonly sets: readonly PoolSet[]
  readonly run: Uint8Array
  readonly log: Logger
}

export class OrphanSweep {
  readonly #options: OrphanSweepOptions
  /** Of the set that is looked at. */
  #number = 1
  #from: Buffer = remoteReferenceStart
  /** Remote references that were looked at, and those that were deleted. */
  looked = 0
  deleted = 0

  constructor(options: OrphanSweepOptions) {
    this.#options = options
  }

  /** Of the server. */
  get run(): Uint8Array {
    return this.#options.run
  }

  get isDone(): boolean {
    return this.#number >= this.#options.sets.length
  }

  /** Looks at some. Rejects where a set cannot be asked: it is to be tried again. */
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
      const asked = references.map(reference => blobIdFrom(reference, number))
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
