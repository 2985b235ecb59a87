import { s3Errors } from 'svc/plugins/s3/api'
import type { BucketPolicyDocument, UnreadableDocument } from './api.ts'
import { bucketPolicyErrors } from './errors.ts'

/** The document, or the S3 error that says why there is none. */
export function requireDocument(
  bucket: string,
  found: BucketPolicyDocument | UnreadableDocument | undefined,
): BucketPolicyDocument {
  if (found === undefined) throw bucketPolicyErrors.NoSuchBucketPolicy(undefined, { extra: { BucketName: bucket } })
  if (found === 'unreadable') {
    throw s3Errors.InternalError(
      'The policy of this bucket cannot be read, and denies everything until it is replaced or deleted.',
      { extra: { BucketName: bucket } },
    )
  }
  return found
}
