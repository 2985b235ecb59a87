/**
 * Limits the number of share links. Each user may have a number of active ones, and as many ended ones are kept in the list, so that
 * creating and revoking links all day does not fill the drive. From the first new share of a user on, a thread keeps the end times of all
 * of them in memory. It learns of changes of other threads a moment later, so threads together may exceed the limit by the shares that they
 * create in that moment.
 */
import type { Clock } from 'svc/kernel'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import { type AccessKeyDocument, allOf, type Documents } from './documents.ts'
import { usersErrors } from './errors.ts'
import { sharePrefix, sharePrefixOf } from './names.ts'

/** Leaves space for other changes of the commit. Each share is two changes. */
export const sharesPerCommitMax = 450

export interface ShareRoom {
  /** The user's shares that have to be removed for a new one: those that ended first. `conflict` if too many are active. */
  make(uid: string | undefined): Promise<readonly string[]>
  /** Notes a share that this thread has committed. Undefined if the share was removed. */
  note(id: string, share: AccessKeyDocument | undefined): void
  close(): void
}

/** The time at which a share ended or will end: by revocation or by expiry. */
export function endOf({ revokedMs, expiresMs }: AccessKeyDocument): number {
  return Math.min(revokedMs ?? Number.POSITIVE_INFINITY, expiresMs ?? Number.POSITIVE_INFINITY)
}

export function createShareRoom({ accessKeys }: Documents, clock: Clock, activeMax: number): ShareRoom {
  /** End times by id, by prefix of the ids. */
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
