/**
 * Access control lists are off, as on AWS since 2023 (bucket owner enforced): the two canned ACLs that say what holds
 * anyway are accepted, every other is refused, none is ignored.
 */
import type { IncomingHttpHeaders } from 'node:http'
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

/** Throws unless the headers ask for no ACL, or for one that changes nothing. */
export function refuseAcl(headers: IncomingHttpHeaders, level: 'bucket' | 'object'): void {
  const acl = headers['x-amz-acl']
  if (acl !== undefined && !harmless.has(String(acl))) {
    if (!others.has(String(acl))) throw objectErrors.InvalidArgument(`"${acl}" is no canned ACL.`)
    throw level === 'bucket' ? s3Errors.InvalidBucketAclWithObjectOwnership() : s3Errors.AccessControlListNotSupported()
  }
  for (const grant of grants) if (headers[grant] !== undefined) throw s3Errors.AccessControlListNotSupported()
}
