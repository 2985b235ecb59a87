import { type CopySource, type S3Request, s3Errors } from 'svc/plugins/s3/api'

/** Policies may depend on tags: only callers who may read and write tags may copy them to another key. Throws AccessDenied. */
export function requireTagCopy(request: S3Request, { bucket, key, versionId }: CopySource): void {
  const action = versionId === undefined ? 's3:GetObjectTagging' : 's3:GetObjectVersionTagging'
  const mayRead = request.isAllowed(action, bucket, key, versionId)
  if (!mayRead || !request.isAllowed('s3:PutObjectTagging', request.bucket, request.key)) throw s3Errors.AccessDenied()
}
