/**
 * Serializes changes: each is made against the state that the change before left. A change reads the documents that it needs, decides, and
 * commits together with the next revision, on the condition that the revision is still the one that it began with; otherwise it starts
 * again. This keeps rules over several documents (only a group without members is deleted, only an existing group gets members).
 *
 * Invariant: the revision changes in every commit that changes a user, group, policy or access key.
 */
import { isCatalogError } from 'svc/kernel'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import { type Documents, only } from './documents.ts'
import { usersErrors } from './errors.ts'

/** Several threads may change documents at the same time: each failed attempt means that another thread's change was committed. */
const attemptsMax = 64
/** Changes that wait in one thread. */
const waitingMax = 1024

export type Fill = (tx: TransactionBuilder) => void

export interface Changes {
  /** Resolves when the result of `decide` is durable; undefined changes nothing. `decide` may be called several times. */
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
        // Only the revision has a precondition: another change was committed, and the decision may no longer be right.
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
      // A change that waits must not fail because of the one before it.
      tail = done.then(release, release)
      return done
    },
  }
}
