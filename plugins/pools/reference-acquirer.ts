/**
 * Acquires references for a commit whose record is in a group that has no reference to a blob yet, such as a copy in another bucket. The
 * remote reference is written in a transaction that requires an existing one of the blob; so a deleted blob is never referenced.
 * Called by `backend.ts`, which then runs the commit again.
 */
import { idInSet, setOfBlob } from './blob-ids.ts'
import { blobReferenceOf, noGroup } from './blob-references.ts'
import type { FreshReferences } from './fresh-references.ts'
import type { PoolSet } from './opening.ts'
import { type AcquireArgs, procedure } from './procedures.ts'
import type { ReferenceEntry } from './record-references.ts'
import { referenceFromEntry, remoteReferenceEntriesOf } from './remote-references.ts'

const referencesPerStep = 256

export class ReferenceAcquirer {
  readonly #sets: readonly PoolSet[]
  readonly #fresh: FreshReferences

  constructor(sets: readonly PoolSet[], fresh: FreshReferences) {
    this.#sets = sets
    this.#fresh = fresh
  }

  /** Adds to `asked` every reference that must be abandoned if it is not used, before it is requested. Skips blobs that are gone. */
  async acquire(missing: readonly ReferenceEntry[], asked: Set<string>): Promise<void> {
    for (const { backend, number } of this.#sets) {
      const ofSet = missing.filter(({ id }) => setOfBlob(id) === number)
      for (let from = 0; from < ofSet.length; from += referencesPerStep) {
        const step = ofSet.slice(from, from + referencesPerStep)
        const args = await Promise.all(step.map(entry => acquireArgs(backend, entry)))
        for (const { reference } of step) asked.add(reference)
        const numbers = await backend.execute<readonly (number | undefined)[]>(procedure.acquire, args)
        for (const [i, { reference }] of step.entries()) {
          const acquisition = numbers[i]
          if (acquisition !== undefined) this.#fresh.confirm(reference, acquisition)
        }
      }
    }
  }
}

async function acquireArgs(backend: PoolSet['backend'], { id, reference, size }: ReferenceEntry): Promise<AcquireArgs> {
  const [start, end] = remoteReferenceEntriesOf(idInSet(id))
  const found = await backend.scanDerived(start, end, cursor =>
    cursor.next() ? referenceFromEntry(Buffer.from(cursor.key)) : undefined,
  )
  return { reference: idInSet(reference), size, existing: found ?? blobReferenceOf(idInSet(id), noGroup) }
}
