/** `root_access` of the settings: whether root may use the S3 API. */

import type { MaybePromise } from 'svc/kernel'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { ApiSettings } from './api-settings.ts'
import { s3Errors } from './errors.ts'

/** Whether these are credentials of root that may not be used here. */
export type IsRootDenied = (identity: Identity | undefined) => MaybePromise<boolean>

export function createRootAccess(api: Settings<ApiSettings>, iam: Pick<IamService, 'owner'>): IsRootDenied {
  const isDenied = ({ root_access }: ApiSettings): MaybePromise<boolean> => {
    if (!root_access) return true
    // Settings that cannot be read must not open what they had closed.
    const problem = api.problem()
    return problem instanceof Promise ? problem.then(isSomething) : isSomething(problem)
  }
  return identity => {
    if (identity === undefined) return false
    // A session that root made has all its rights, or some of them.
    const isOfRoot = identity.isRoot || (identity.kind === 'session' && identity.userName === iam.owner.accessKey)
    if (!isOfRoot) return false
    const values = api.get()
    return values instanceof Promise ? values.then(isDenied) : isDenied(values)
  }
}

function isSomething(problem: string | undefined): boolean {
  return problem !== undefined
}

/** Throws, or rejects with, AccessDenied. A promise only where one has to be waited for. */
export function requireRootAccess(isRootDenied: IsRootDenied, identity: Identity | undefined): MaybePromise<void> {
  const denied = isRootDenied(identity)
  return denied instanceof Promise ? denied.then(refuse) : refuse(denied)
}

function refuse(isDenied: boolean): void {
  if (isDenied) throw s3Errors.AccessDenied('Root may not use the S3 API: root_access is off in its settings.')
}
