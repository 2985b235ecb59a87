/** The setting `root_access`: whether root may use the S3 API. */

import type { MaybePromise } from 'svc/kernel'
import type { IamService, Identity } from 'svc/plugins/iam/api'
import type { Settings } from 'svc/plugins/settings/api'
import type { ApiSettings } from './api-settings.ts'
import { s3Errors } from './errors.ts'

/** Whether the credentials belong to root and must not be used here. */
export type IsRootDenied = (identity: Identity | undefined) => MaybePromise<boolean>

export function createRootAccess(api: Settings<ApiSettings>, iam: Pick<IamService, 'owner'>): IsRootDenied {
  async function isClosedLater(...read: [MaybePromise<ApiSettings>, MaybePromise<string | undefined>]) {
    const [values, problem] = await Promise.all(read)
    return isClosed(values, problem)
  }
  return identity => {
    if (identity === undefined) return false
    // A session that root created has all of its rights, or some of them.
    const isOfRoot = identity.isRoot || (identity.kind === 'session' && identity.userName === iam.owner.accessKey)
    if (!isOfRoot) return false
    const values = api.get()
    const problem = api.problem()
    // Settings are usually in memory: returns a promise only if they have to be read.
    return values instanceof Promise || problem instanceof Promise
      ? isClosedLater(values, problem)
      : isClosed(values, problem)
  }
}

/** If the settings cannot be read, the API stays closed to root, as they may have closed it. */
function isClosed({ root_access }: ApiSettings, problem: string | undefined): boolean {
  return !root_access || problem !== undefined
}

/** Throws, or rejects with, AccessDenied. */
export function requireRootAccess(isRootDenied: IsRootDenied, identity: Identity | undefined): MaybePromise<void> {
  const isDenied = isRootDenied(identity)
  if (isDenied instanceof Promise) return refuseLater(isDenied)
  if (isDenied) throw rootRefused()
}

async function refuseLater(isDenied: Promise<boolean>): Promise<void> {
  if (await isDenied) throw rootRefused()
}

function rootRefused(): Error {
  return s3Errors.AccessDenied('Root may not use the S3 API: root_access is off in its settings.')
}
