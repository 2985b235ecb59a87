/**
 * Claims for records of a group that has none of a blob yet, such as a copy in another bucket: each needs a shadow before the record's
 * transaction. It is put beside one that the blob has already, in one transaction: so it never keeps a blob that has gone.
 */
import { idInSet, setOfBlob } from './blob-ids.ts'
import { claimOf, noGroup } from './claims.ts'
import type { PoolSet } from './opening.ts'
import { type GrantArgs, procedure } from './procedures.ts'
import type { Reference } from './references.ts'
import { claimOfEntry, shadowEntriesOf } from './shadows.ts'

const claimsPerStep = 256

export class Granting {
  readonly #sets: readonly PoolSet[]

  constructor(sets: readonly PoolSet[]) {
    this.#sets = sets
  }

  /** Resolves with those that were granted: of others the blob may have gone meanwhile. */
  async grant(wanted: readonly Reference[]): Promise<string[]> {
    const granted: string[] = []
    for (const { backend, number } of this.#sets) {
      const ofSet = wanted.filter(({ id }) => setOfBlob(id) === number)
      for (let from = 0; from < ofSet.length; from += claimsPerStep) {
        const step = ofSet.slice(from, from + claimsPerStep)
        const args = await Promise.all(step.map(reference => grantArgs(backend, reference)))
        const refused = new Set(await backend.execute<readonly string[]>(procedure.grant, args))
        for (const { claim } of step) if (!refused.has(idInSet(claim))) granted.push(claim)
      }
    }
    return granted
  }
}

async function grantArgs(backend: PoolSet['backend'], { id, claim, size }: Reference): Promise<GrantArgs> {
  const [start, end] = shadowEntriesOf(idInSet(id))
  const found = await backend.scanDerived(start, end, cursor =>
    cursor.next() ? claimOfEntry(Buffer.from(cursor.key)) : undefined,
  )
  return { claim: idInSet(claim), size, besides: found ?? claimOf(idInSet(id), noGroup) }
}
