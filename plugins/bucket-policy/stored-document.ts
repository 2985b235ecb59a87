import { s3Errors } from 'svc/plugins/s3/api'
import type { BucketPolicyDocument, UnreadableDocument } from './api.ts'
import { bucketPolicyErrors } from './errors.ts'

/** Returns the document; throws the S3 error if it is missing or unreadable. */
export function requireDocument(
  bucket: string,
  found: BucketPolicyDocument | UnreadableDocument | undefined,
): BucketPolicyDocument {
  if (found === undefined) throw bucketPolicyErrors.NoSuchBucketPolicy(undefined, { extra: { BucketName: bucket } })
  if (found === 'unreadable') {
    throw s3Errors.InternalError(
      'The policy of this bucket cannot be read: everything is denied until it is replaced or deleted.',
      { extra: { BucketName: bucket } },
    )
  }
  return found
}
