import type { AdminRequest } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { Caller } from '../api.ts'
import { userNameOf } from '../user-directory.ts'

type Asked = Pick<AdminRequest, 'identity' | 'isAllowed'>

/** The caller, for operations that depend on the owner of an access key. */
export function callerOf({ identity, isAllowed }: Asked): Caller {
  return { identity: identity as Identity, isAllowed: action => isAllowed(action) }
}

/** The caller's user, if the caller has all of its rights: restricted credentials must not read what only the user may read. */
export function ownUserOf({ identity }: Asked): string | undefined {
  return identity === undefined || identity.isRestricted === true ? undefined : userNameOf(identity)
}
