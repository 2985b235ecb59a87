/** Finds the credentials for an access key and an optional session token, or throws the error of S3. */

import type { MaybePromise } from 'svc/kernel'
import type { Authentication, Credentials, IamService, SessionCredentials, SignatureGuard } from 'svc/plugins/iam/api'
import { authErrors } from './errors.ts'

export type CredentialSource = Pick<IamService, 'credentials' | 'sessionCredentials'>
export type FoundCredentials = SessionCredentials | undefined

/** `token`: the value of `x-amz-security-token` from a header, parameter or form field. Throws what the guard throws. */
export function findCredentials(
  iam: CredentialSource,
  accessKey: string,
  token: string | string[] | undefined,
  guard: SignatureGuard | undefined,
): MaybePromise<FoundCredentials> {
  guard?.(accessKey)
  if (token === undefined || token === '') return iam.credentials(accessKey)
  return typeof token === 'string' ? iam.sessionCredentials(accessKey, token) : 'invalid'
}

/** Throws InvalidAccessKeyId, InvalidToken or ExpiredToken; AccessDenied for a share without a presigned query. */
export function requireCredentials(
  found: FoundCredentials,
  accessKey: string,
  method: Authentication['method'],
): Credentials {
  if (found === undefined) {
    throw authErrors.InvalidAccessKeyId(undefined, { extra: { AWSAccessKeyId: accessKey.slice(0, 128) } })
  }
  if (found === 'invalid') throw authErrors.InvalidToken()
  if (found === 'expired') throw authErrors.ExpiredToken()
  if (found.identity.kind === 'share' && method !== 'presigned') throw authErrors.AccessDenied()
  return found
}
