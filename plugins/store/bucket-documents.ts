import type { Transaction } from 'svc/plugins/storage/api'
import { bucketRange, keeperRange } from './keys.ts'

/**
 * Deletes every document of a bucket, including those that cannot be read: otherwise the next bucket of that name would have them. The
 * caller deletes or creates the bucket's record in the same transaction.
 */
export function deleteBucketDocuments(tx: Transaction, bucket: string): void {
  const [start, end] = bucketRange(bucket)
  for (let found = tx.first(start, end); found !== undefined; found = tx.first(start, end)) {
    tx.delete(Buffer.from(found.key))
  }
}

/** Whether a document keeps the bucket from being deleted, also one that cannot be read, and one of a plugin that is not loaded. */
export function isBucketKept(tx: Transaction, bucket: string): boolean {
  return tx.first(...keeperRange(bucket)) !== undefined
}
