/**
 * Quotas of buckets. What counts is what is stored: the bytes of all versions, and of parts of uploads that are not completed. The
 * sums are exact in the transaction that changes them, so no number of writers passes a quota by a byte.
 *
 * Invariant: after a commit a bucket's bytes are at most its quota, or at most what they were before. So whatever does not grow
 * them goes through: deletes, delete markers, a smaller body in place of a larger one, the completion of an upload.
 */
import type { StorageService, Transaction } from 'svc/plugins/storage/api'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { counterKey } from './keys.ts'
import { storedBytes } from './usage.ts'

/** The bucket's bytes before a change; undefined where there is no quota. */
export function bytesBefore(tx: Transaction, name: string, bucket: BucketDocument): number | undefined {
  return bucket.quotaBytes === undefined ? undefined : storedBytes(tx.counter(counterKey(name)))
}

/** After a change that may have grown the bucket. Throws QuotaExceeded, which undoes it. */
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
 * Refuses a body before it is received that cannot be stored: `replacedBytes` is what may go for it. Only the commit decides: here
 * everything may change yet.
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
