import type { S3Request } from 'svc/plugins/s3/api'

/** Whether the request asks to bypass retention in GOVERNANCE mode, and may do so. If it may not, the lock refuses the change. */
export function mayBypassGovernance(request: S3Request, key: string, versionId?: string): boolean {
  const asked = request.headers['x-amz-bypass-governance-retention'] as string | undefined
  if (asked?.toLowerCase() !== 'true') return false
  return request.isAllowed('s3:BypassGovernanceRetention', request.bucket, key, versionId)
}
