/**
 * How anything changes: one after the other, each against the state that the one before left. A change reads what it needs,
 * decides, and commits together with the next revision, if the revision still is the one that it began with; otherwise it
 * begins again. So rules over several documents (a group without members is deleted, a user is put in a group that exists) hold.
 *
 * Invariant: the revision changes in every commit that changes a user, group, policy or access key.
 */
import { isCatalogError } from 'svc/kernel'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import { type Documents, only } from './documents.ts'
import { usersErrors } from './errors.ts'

/** Threads take turns badly: each lost round means that somebody else got through. */
const attemptsMax = 64
/** Of one thread. */
const waitingMax = 1024

export type Fill = (tx: TransactionBuilder) => void

export interface Changes {
  /** Resolves when what `decide` returned is durable; undefined changes nothing. `decide` may be called again. */
  commit(decide: () => Promise<Fill | undefined>): Promise<void>
}

export function createChanges({ revisions }: Documents, transaction: (fill: Fill) => Promise<unknown>): Changes {
  let tail: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function run(decide: () => Promise<Fill | undefined>): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const revision = await revisions.get(only)
      const fill = await decide()
      if (fill === undefined) return
      const condition = revision === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: revision.etag }
      try {
        await transaction(tx => {
          fill(tx)
          tx.put(revisions, only, { count: (revision?.value.count ?? 0) + 1 }, condition)
        })
        return
      } catch (error) {
        // No other step has a condition: somebody else made a change, and what was decided may no longer be right.
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      }
    }
    throw usersErrors.busy()
  }

  return {
    commit(decide) {
      if (waiting >= waitingMax) return Promise.reject(usersErrors.busy())
      waiting++
      const done = tail.then(() => run(decide))
      const release = () => {
        waiting--
      }
      // Whoever waits hears of its own failure alone.
      tail = done.then(release, release)
      return done
    },
  }
}
