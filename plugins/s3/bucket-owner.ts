/** `x-amz-expected-bucket-owner` and its twin for the source of a copy. */

import type { MaybePromise } from 'svc/kernel'
import type { Bucket } from 'svc/plugins/objects/api'
import { s3Errors } from './errors.ts'

/** Throws AccessDenied when a request names another owner than the bucket has; NoSuchBucket comes from `getBucket`. */
export function checkBucketOwner(
  expected: string | undefined,
  getBucket: () => MaybePromise<Pick<Bucket, 'ownerId'>>,
): MaybePromise<void> {
  if (expected === undefined) return
  const bucket = getBucket()
  return bucket instanceof Promise ? bucket.then(found => compare(expected, found)) : compare(expected, bucket)
}

function compare(expected: string, bucket: Pick<Bucket, 'ownerId'>): void {
  if (bucket.ownerId !== expected) throw s3Errors.AccessDenied('The bucket does not belong to the expected owner.')
}
