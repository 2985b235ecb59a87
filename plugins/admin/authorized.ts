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
