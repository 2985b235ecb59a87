/**
 * The right to manage distributions counts per bucket. A key of a group opens the bucket of every distribution that names the group, so
 * who changes the group needs the right on all of these buckets. A group that none names yet will open a bucket that is not known: it
 * belongs to who made it, or anybody could add a key before it opens anything. For the same reason nobody opens another bucket with keys
 * that somebody else has added.
 */
import { type AdminRequest, isAuthorized } from 'svc/plugins/admin/api'
import { userNameOf } from 'svc/plugins/policy/api'
import type { KeyGroup, KeyGroupEditor, KeyGroupUse } from './api.ts'
import { manage, manageUsers } from './errors.ts'

type Asking = Pick<AdminRequest, 'authorize' | 'identity' | 'isAllowed'>

/** The caller of an operation. */
export function editorOf(request: Asking): KeyGroupEditor {
  const user = userNameOf(request.identity!)
  const managesUsers = request.isAllowed(manageUsers)
  const editor: KeyGroupEditor = {
    user,
    managesUsers,
    async mayEdit({ usedBy, madeBy }) {
      if (usedBy.length === 0) return madeBy === user || managesUsers
      for (const use of usedBy) if (!(await mayManage(request, use))) return false
      return true
    },
    mayOpen: async (bucket, group) =>
      (await editor.mayEdit(group)) && (managesUsers || editor.othersKeys(bucket, group).length === 0),
    othersKeys: (bucket, { usedBy, keys }) =>
      usedBy.some(use => use.bucket === bucket) ? [] : keys.filter(({ addedBy }) => addedBy !== user),
  }
  return editor
}

const mayManage = (request: Pick<Asking, 'authorize'>, { bucket }: KeyGroupUse): Promise<boolean> =>
  isAuthorized(request, [manage], { bucket })

/** Names of distributions that the caller may manage. */
export async function visibleUses(
  request: Pick<Asking, 'authorize'>,
  { usedBy }: Pick<KeyGroup, 'usedBy'>,
): Promise<string[]> {
  const names: string[] = []
  for (const use of usedBy) if (await mayManage(request, use)) names.push(use.name)
  return names
}
