import type { Transaction } from 'svc/plugins/storage/api'
import { bucketRange } from './keys.ts'

/**
 * Deletes every document of a bucket: to be called by whoever deletes or creates the bucket's record, in the same transaction.
 * Also what cannot be read goes: without its bucket it would come back to the next one of that name.
 */
export function deleteBucketDocuments(tx: Transaction, bucket: string): void {
  const [start, end] = bucketRange(bucket)
  for (let found = tx.first(start, end); found !== undefined; found = tx.first(start, end)) {
    tx.delete(Buffer.from(found.key))
  }
}
