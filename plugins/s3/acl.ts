/**
 * Access control lists while they are off, as on AWS since 2023 (bucket owner enforced): the two canned lists that describe the existing
 * permissions are accepted, all others are refused. Operators may let the server ignore canned lists, for clients that always send them.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { chain, type MaybePromise } from 'svc/kernel'
import { objectErrors } from 'svc/plugins/objects/api'
import { s3Errors } from './errors.ts'

const harmless = new Set(['private', 'bucket-owner-full-control'])
const others = new Set([
  'public-read',
  'public-read-write',
  'authenticated-read',
  'aws-exec-read',
  'bucket-owner-read',
  'log-delivery-write',
])
const grants = [
  'x-amz-grant-full-control',
  'x-amz-grant-read',
  'x-amz-grant-read-acp',
  'x-amz-grant-write',
  'x-amz-grant-write-acp',
]

/** The setting `acl_ignored`. */
export type IsAclIgnored = () => MaybePromise<boolean>

/** Whether the headers request any list. */
export function asksForAcl(headers: IncomingHttpHeaders): boolean {
  return headers['x-amz-acl'] !== undefined || grants.some(grant => headers[grant] !== undefined)
}

/**
 * Throws, or rejects, unless the headers request no list, one that changes nothing, or a canned one that the settings let the server
 * ignore.
 */
export function refuseAcl(
  headers: IncomingHttpHeaders,
  level: 'bucket' | 'object',
  isIgnored: IsAclIgnored,
): MaybePromise<void> {
  for (const grant of grants) if (headers[grant] !== undefined) throw s3Errors.AccessControlListNotSupported()
  const acl = headers['x-amz-acl']
  if (acl === undefined || harmless.has(String(acl))) return
  if (!others.has(String(acl))) throw objectErrors.InvalidArgument(`"${acl}" is no canned ACL.`)
  return chain(isIgnored(), isOn => {
    if (isOn) return
    const error = level === 'bucket' ? 'InvalidBucketAclWithObjectOwnership' : 'AccessControlListNotSupported'
    throw s3Errors[error](
      'Access control lists are off here. Grant access by a policy, or have the setting acl_ignored of api ignore canned lists.',
    )
  })
}
