/**
 * Share links: each has credentials of its own, an access key of the kind `share`. A revoked link loses its secret; the rest of it stays in
 * the list for a while.
 */

import { isOwnedByRoot, isOwnKey, limited } from './access-key-directory.ts'
import type { Caller, Share, ShareState, UsersService } from './api.ts'
import type { Context } from './context.ts'
import { type AccessKeyDocument, allOf } from './documents.ts'
import { noShare, usersErrors } from './errors.ts'
import { sharePrefix, sharePrefixOf } from './names.ts'
import { selectPage } from './pages.ts'
import { endOf, removeShares, sharesPerCommitMax } from './share-room.ts'
import { userNameOf } from './user-directory.ts'
import { describeAccessKey, requireUser } from './views.ts'

type ShareMethods = Pick<UsersService, 'listShares' | 'revokeShare' | 'removeOldShares'>

const keptMs = 24 * 3600_000

export function createShareDirectory(context: Context): ShareMethods {
  const { documents, changes, clock, owner: root, shareRoom } = context
  const { accessKeys } = documents

  const stateOf = ({ revokedMs, expiresMs }: AccessKeyDocument): ShareState => {
    if (revokedMs !== undefined) return 'revoked'
    return expiresMs !== undefined && expiresMs <= clock.now() ? 'expired' : 'active'
  }

  return {
    async listShares(caller, { user, isAll = false, bucket, state, ...request } = {}) {
      const { identity } = caller
      if (identity.kind === 'share') throw usersErrors.access_denied()
      const own = userNameOf(identity)
      const name = user ?? own
      const isOwn = !isAll && name === own && (name === root.accessKey) === isOwnedByRoot(identity)
      if (!isOwn && !caller.isAllowed('admin:ListServiceAccounts')) throw usersErrors.access_denied()
      const uid = isAll || name === root.accessKey ? undefined : (await requireUser(documents, name)).value.uid
      const maker = isOwn && identity.isRestricted === true ? identity.accessKey : undefined
      const page = await selectPage(
        accessKeys,
        { ...request, prefix: isAll ? sharePrefix : sharePrefixOf(uid) },
        ({ value }) =>
          value.kind === 'share' &&
          (isAll || value.owner?.uid === uid) &&
          (maker === undefined || value.parent === maker) &&
          (bucket === undefined || value.share?.bucket === bucket) &&
          (state === undefined || stateOf(value) === state),
      )
      const items = page.documents.map(async (document): Promise<Share> => {
        const { kind: _, share, ...key } = await describeAccessKey(document, context)
        // Every share has a target; a document without one gives access to nothing and is shown as empty.
        const target = share ?? { bucket: '', key: '' }
        return { ...key, share: target, state: stateOf(document.value), revokedMs: document.value.revokedMs }
      })
      return { items: await Promise.all(items), next: page.next }
    },

    async revokeShare(caller, id) {
      let revoked: AccessKeyDocument | undefined
      await changes.commit(async () => {
        const value = (await accessKeys.get(id))?.value
        if (value === undefined || value.kind !== 'share') {
          throw noShare(id)
        }
        requireRevocable(caller, value, id)
        if (value.revokedMs !== undefined) return undefined
        const next: AccessKeyDocument = { ...value, status: 'disabled', secretKey: '', revokedMs: clock.now() }
        revoked = next
        return tx => tx.put(accessKeys, id, next)
      })
      if (revoked !== undefined) shareRoom.note(id, revoked)
    },

    async removeOldShares() {
      const before = clock.now() - keptMs
      let removed = 0
      let old: string[] = []
      const remove = async () => {
        const ids = old
        old = []
        if (ids.length > 0) await changes.commit(async () => tx => removeShares(tx, documents, ids))
        for (const id of ids) shareRoom.note(id, undefined)
        removed += ids.length
      }
      // All keys, because shares of former releases have names like other keys.
      for await (const { id, value } of allOf(accessKeys)) {
        if (value.kind !== 'share' || endOf(value) >= before) continue
        if (old.push(id) === sharesPerCommitMax) await remove()
      }
      await remove()
      return removed
    },
  }
}

function requireRevocable({ identity, isAllowed }: Caller, share: AccessKeyDocument, id: string): void {
  if (identity.kind === 'share') throw usersErrors.access_denied()
  if (isOwnKey(identity, share)) {
    if (identity.isRestricted !== true || share.parent === identity.accessKey) return
    throw usersErrors.access_denied(limited)
  }
  // As if there were none: whoever holds a link must not learn whether it was revoked.
  if (!isAllowed('admin:RemoveServiceAccount')) throw noShare(id)
  if (share.owner === undefined && !identity.isRoot) throw usersErrors.access_denied()
}
