/**
 * Claims for records of a group that has none of a blob yet, such as a copy in another bucket: each needs a shadow before the record's
 * transaction. It is put beside one that the blob has already, in one transaction: so it never keeps a blob that has gone.
 */
import { idInSet, setOfBlob } from './blob-ids.ts'
import { claimOf, noGroup } from './claims.ts'
import type { FreshClaims } from './fresh-claims.ts'
import type { PoolSet } from './opening.ts'
import { type GrantArgs, procedure } from './procedures.ts'
import type { Reference } from './references.ts'
import { claimOfEntry, shadowEntriesOf } from './shadows.ts'

const claimsPerStep = 256

export class Granting {
  readonly #sets: readonly PoolSet[]
  readonly #fresh: FreshClaims

  constructor(sets: readonly PoolSet[], fresh: FreshClaims) {
    this.#sets = sets
    this.#fresh = fresh
  }

  /** Adds to `asked` what has to be given up if it is not used, before it may be there. Of some the blob may have gone meanwhile. */
  async grant(wanted: readonly Reference[], asked: Set<string>): Promise<void> {
    for (const { backend, number } of this.#sets) {
      const ofSet = wanted.filter(({ id }) => setOfBlob(id) === number)
      for (let from = 0; from < ofSet.length; from += claimsPerStep) {
        const step = ofSet.slice(from, from + claimsPerStep)
        const args = await Promise.all(step.map(reference => grantArgs(backend, reference)))
        for (const { claim } of step) asked.add(claim)
        const numbers = await backend.execute<readonly (number | undefined)[]>(procedure.grant, args)
        for (const [i, { claim }] of step.entries()) {
          const grant = numbers[i]
          if (grant !== undefined) this.#fresh.confirm(claim, grant)
        }
      }
    }
  }
}

async function grantArgs(backend: PoolSet['backend'], { id, claim, size }: Reference): Promise<GrantArgs> {
  const [start, end] = shadowEntriesOf(idInSet(id))
  const found = await backend.scanDerived(start, end, cursor =>
    cursor.next() ? claimOfEntry(Buffer.from(cursor.key)) : undefined,
  )
  return { claim: idInSet(claim), size, besides: found ?? claimOf(idInSet(id), noGroup) }
}
