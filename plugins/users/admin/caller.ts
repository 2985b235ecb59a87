import type { AdminRequest } from 'svc/plugins/admin/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { Caller } from '../api.ts'
import { userNameOf } from '../user-directory.ts'

type Asked = Pick<AdminRequest, 'identity' | 'isAllowed'>

/** Who asks, for calls that decide by whose access key it is. */
export function callerOf({ identity, isAllowed }: Asked): Caller {
  return { identity: identity as Identity, isAllowed: action => isAllowed(action) }
}

/** The caller's user, where the caller has all of its rights: a part of them is not told what the whole may know. */
export function ownUserOf({ identity }: Asked): string | undefined {
  return identity === undefined || identity.isRestricted === true ? undefined : userNameOf(identity)
}
