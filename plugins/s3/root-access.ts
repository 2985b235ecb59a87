/** `root_access` of the settings: whether root may use the S3 API. */

import type { MaybePromise } from 'svc/kernel'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { ApiSettings } from './api-settings.ts'
import { s3Errors } from './errors.ts'

/** Whether these are credentials of root that may not be used here. */
export type IsRootDenied = (identity: Identity | undefined) => MaybePromise<boolean>

export function createRootAccess(api: Settings<ApiSettings>, iam: Pick<IamService, 'owner'>): IsRootDenied {
  async function isClosed(): Promise<boolean> {
    const { root_access } = await api.get()
    // Settings that cannot be read must not open what they had closed.
    return !root_access || (await api.problem()) !== undefined
  }
  return identity => {
    if (identity === undefined) return false
    // A session that root made has all its rights, or some of them.
    const isOfRoot = identity.isRoot || (identity.kind === 'session' && identity.userName === iam.owner.accessKey)
    return isOfRoot && isClosed()
  }
}

/** Throws, or rejects with, AccessDenied. A promise only for credentials of root. */
export function requireRootAccess(isRootDenied: IsRootDenied, identity: Identity | undefined): MaybePromise<void> {
  const isDenied = isRootDenied(identity)
  if (isDenied !== false) return refuseIf(isDenied)
}

async function refuseIf(isDenied: MaybePromise<boolean>): Promise<void> {
  if (await isDenied) throw s3Errors.AccessDenied('Root may not use the S3 API: root_access is off in its settings.')
}
