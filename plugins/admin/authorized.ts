import { isCatalogError } from 'svc/kernel'
import type { ActionTarget, AdminRequest, RequiredActions } from './api.ts'

/** Like `authorize` of the request, but `access_denied` is the answer `false`. Other errors are thrown. */
export async function isAuthorized(
  request: Pick<AdminRequest, 'authorize'>,
  actions: RequiredActions,
  target: ActionTarget,
): Promise<boolean> {
  try {
    await request.authorize(actions, target)
    return true
  } catch (error) {
    if (isCatalogError(error) && error.code === 'access_denied') return false
    throw error
  }
}

/** `authorizeRequest` of a change that accepts `If-Match`: its outcome tells what there is, so it needs the action that reads it as well. Of several, any one. */
export const authorizeChange =
  (change: RequiredActions[number], read: RequiredActions[number]) =>
  ({ ifMatch, ifNoneMatch }: Pick<AdminRequest, 'ifMatch' | 'ifNoneMatch'>) => ({
    actions: ifMatch === undefined && ifNoneMatch === undefined ? [change] : [change, read],
  })
