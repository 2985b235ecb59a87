import type { Transaction } from 'svc/plugins/storage/api'
import { bucketRange } from './keys.ts'

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
