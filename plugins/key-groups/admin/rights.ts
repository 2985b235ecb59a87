/**
 * The right to manage distributions counts per bucket. A key of a group opens the bucket of every distribution that names the group, so
 * who changes the group needs the right on all of these buckets.
 */
import { type AdminRequest, isAuthorized } from 'svc/plugins/admin/api'
import type { KeyGroup, KeyGroupUse, RequireUses } from '../api.ts'
import { manage, usedElsewhere } from '../errors.ts'

export { manage }

type Asking = Pick<AdminRequest, 'authorize'>

const mayManage = (request: Asking, { bucket }: KeyGroupUse): Promise<boolean> =>
  isAuthorized(request, [manage], { bucket })

/** Throws `access_denied`, which does not name the distribution. */
export const requireManaged =
  (request: Asking): RequireUses =>
  async uses => {
    for (const use of uses) if (!(await mayManage(request, use))) throw usedElsewhere()
  }

/** Names of distributions that the caller may manage. */
export async function visibleUses(request: Asking, { usedBy }: Pick<KeyGroup, 'usedBy'>): Promise<string[]> {
  const names: string[] = []
  for (const use of usedBy) if (await mayManage(request, use)) names.push(use.name)
  return names
}
