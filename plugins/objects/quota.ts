/**
 * Quotas of buckets. The bytes of all versions, and of the parts of incomplete uploads, count. The counters are exact within the
 * transaction, so concurrent writers cannot exceed a quota by a single byte.
 *
 * Invariant: after a commit a bucket's bytes are at most its quota, or at most as many as before. So changes that do not increase
 * them always pass: deletes, delete markers, a smaller body in place of a larger one, the completion of an upload.
 */
import type { StorageService, Transaction } from 'svc/plugins/storage/api'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { counterKey } from './keys.ts'
import { storedBytes } from './usage.ts'

/** The bucket's bytes before a change; undefined without a quota. */
export function bytesBefore(tx: Transaction, name: string, bucket: BucketDocument): number | undefined {
  return bucket.quotaBytes === undefined ? undefined : storedBytes(tx.counter(counterKey(name)))
}

/** Called after a change that may have increased the bucket's bytes. Throws QuotaExceeded, which rolls it back. */
export function requireQuota(
  tx: Transaction,
  name: string,
  { quotaBytes }: BucketDocument,
  beforeBytes: number | undefined,
): void {
  if (quotaBytes === undefined || beforeBytes === undefined) return
  const afterBytes = storedBytes(tx.counter(counterKey(name)))
  if (afterBytes > quotaBytes && afterBytes > beforeBytes) throw exceeded(quotaBytes, afterBytes)
}

/**
 * Refuses a body that cannot fit before it is received. `replacedBytes`: bytes that it may replace. This is an early check; the
 * commit decides.
 */
export async function refuseHopeless(
  storage: StorageService,
  bucket: { readonly name: string; readonly quotaBytes: number | undefined },
  sizeBytes: number | undefined,
  replacedBytes: () => Promise<number>,
): Promise<void> {
  const { quotaBytes } = bucket
  if (quotaBytes === undefined || sizeBytes === undefined || sizeBytes === 0) return
  const usedBytes = storedBytes(await storage.counter(counterKey(bucket.name)))
  if (usedBytes + sizeBytes <= quotaBytes) return
  const growthBytes = sizeBytes - (await replacedBytes())
  if (growthBytes > 0 && usedBytes + growthBytes > quotaBytes) throw exceeded(quotaBytes, usedBytes + growthBytes)
}

function exceeded(quotaBytes: number, neededBytes: number): Error {
  return objectErrors.QuotaExceeded(undefined, {
    extra: { QuotaBytes: String(quotaBytes), NeededBytes: String(neededBytes) },
  })
}
