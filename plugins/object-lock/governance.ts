import type { S3Request } from 'svc/plugins/s3/api'

/** Whether the request asks to pass over retention in GOVERNANCE mode, and may. What it may not is then refused by the lock. */
export function mayBypassGovernance(request: S3Request, key: string, versionId?: string): boolean {
  const asked = request.headers['x-amz-bypass-governance-retention'] as string | undefined
  if (asked?.toLowerCase() !== 'true') return false
  return request.isAllowed('s3:BypassGovernanceRetention', request.bucket, key, versionId)
}
