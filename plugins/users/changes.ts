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
import type { KeyIndex } from './key-index.ts'

/** Several threads may change documents at the same time: each failed attempt means that another thread's change was committed. */
const attemptsMax = 64
/** Changes that wait in one thread. */
const waitingMax = 1024

export type Fill = (tx: TransactionBuilder) => void

export interface Changes {
  /** Resolves when the result of `decide` is durable; undefined changes nothing. `decide` may be called several times. */
  commit(decide: Decide): Promise<void>
  /** Who has which access keys, for answers. */
  keys(): Promise<KeyIndex>
}

/** `keys` resolves with the index of the revision that the commit requires. */
export type Decide = (keys: () => Promise<KeyIndex>) => Promise<Fill | undefined>

export function createChanges(
  { revisions }: Documents,
  transaction: (fill: Fill) => Promise<unknown>,
  index: KeyIndex,
): Changes {
  let tail: Promise<unknown> = Promise.resolve()
  let waiting = 0

  async function run(decide: Decide): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const revision = await revisions.get(only)
      const count = revision?.value.count ?? 0
      const fill = await decide(async () => {
        if (!index.isAt(count)) await index.read(count)
        return index
      })
      if (fill === undefined) return
      let followed: ReturnType<KeyIndex['follow']> | undefined
      const condition = revision === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: revision.etag }
      try {
        await transaction(tx => {
          followed = index.follow(tx)
          fill(followed.tx)
          tx.put(revisions, only, { count: count + 1 }, condition)
        })
        followed?.committed(count + 1)
        return
      } catch (error) {
        // Only the revision has a precondition: another change was committed, and the decision may no longer be right.
        if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
      }
    }
    throw usersErrors.busy()
  }

  function commit(decide: Decide): Promise<void> {
    if (waiting >= waitingMax) return Promise.reject(usersErrors.busy())
    waiting++
    const done = tail.then(() => run(decide))
    const release = () => {
      waiting--
    }
    // A change that waits must not fail because of the one before it.
    tail = done.then(release, release)
    return done
  }

  return {
    commit,

    async keys() {
      // A change of this thread is under way, and is noted as soon as it is committed.
      if (waiting > 0 && index.isRead()) return index
      const revision = await revisions.get(only)
      if (!index.isAt(revision?.value.count ?? 0)) {
        await commit(async keys => {
          await keys()
          return undefined
        })
      }
      return index
    },
  }
}
