/**
 * How many share links there may be. Of each user a number is active, and as many that are over are kept to be listed: whoever makes
 * links and revokes them all day fills no drive. A thread remembers when each of them ends, from its first new share on; what other
 * threads do is heard a moment later, so that threads together may pass the number by what they make in that moment.
 */
import type { Clock } from 'svc/kernel'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import { type AccessKeyDocument, allOf, type Documents } from './documents.ts'
import { usersErrors } from './errors.ts'
import { sharePrefix, sharePrefixOf } from './names.ts'

/** Leaves room for what else is in the commit. Each is two changes. */
export const sharesPerCommitMax = 450

export interface ShareRoom {
  /** Which of the user's shares have to go for another one: those that were over first. `conflict` where too many are active. */
  make(uid: string | undefined): Promise<readonly string[]>
  /** What this thread has committed. Undefined: it is gone. */
  note(id: string, share: AccessKeyDocument | undefined): void
  close(): void
}

/** When a share ended or will; what it came to first. */
export function endOf({ revokedMs, expiresMs }: AccessKeyDocument): number {
  return Math.min(revokedMs ?? Number.POSITIVE_INFINITY, expiresMs ?? Number.POSITIVE_INFINITY)
}

export function createShareRoom({ accessKeys }: Documents, clock: Clock, activeMax: number): ShareRoom {
  /** Ends by id, by the beginning of the ids. */
  const users = new Map<string, Map<string, number>>()
  let known: Promise<void> | undefined
  let unwatch: (() => void) | undefined

  const note = (id: string, share: AccessKeyDocument | undefined) => {
    if (!id.startsWith(sharePrefix)) return
    const user = id.slice(0, sharePrefixOf(undefined).length)
    const ends = users.get(user)
    if (share !== undefined) {
      if (ends === undefined) users.set(user, new Map([[id, endOf(share)]]))
      else ends.set(id, endOf(share))
    } else if (ends?.delete(id) === true && ends.size === 0) users.delete(user)
  }

  const read = async () => {
    users.clear()
    unwatch ??= accessKeys.watch(
      ({ id, after }) => note(id, after?.value),
      () => {
        known = undefined
      },
    )
    for await (const { id, value } of allOf(accessKeys, sharePrefix)) note(id, value)
  }

  return {
    async make(uid) {
      known ??= read()
      try {
        await known
      } catch (error) {
        known = undefined
        throw error
      }
      const nowMs = clock.now()
      const over: [id: string, endMs: number][] = []
      let active = 0
      for (const entry of users.get(sharePrefixOf(uid)) ?? []) {
        if (entry[1] > nowMs) active++
        else over.push(entry)
      }
      if (active >= activeMax) {
        throw usersErrors.conflict(
          `A user has at most ${activeMax} active share links. Revoke some, or wait until they expire.`,
        )
      }
      const surplus = over.length - activeMax
      if (surplus <= 0) return []
      over.sort(([, a], [, b]) => a - b)
      return over.slice(0, Math.min(surplus, sharesPerCommitMax)).map(([id]) => id)
    },
    note,
    close() {
      unwatch?.()
      unwatch = undefined
    },
  }
}

export function removeShares(tx: TransactionBuilder, documents: Documents, ids: readonly string[]): void {
  for (const id of ids) {
    tx.delete(documents.accessKeys, id)
    tx.delete(documents.lastUses, id)
  }
}
