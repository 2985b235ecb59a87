import type { PolicyService } from 'svc/plugins/policy/api'

/** Whether somebody without credentials may list some part of the bucket, or read everything in it. */
export function isPublicBucket(policy: Pick<PolicyService, 'isAllowed' | 'isAllowedInPart'>, bucket: string): boolean {
  return (
    policy.isAllowedInPart({ identity: undefined, action: 's3:ListBucket', bucket }) ||
    // A star as the key: only what covers every key matches it.
    policy.isAllowed({ identity: undefined, action: 's3:GetObject', bucket, key: '*' })
  )
}
