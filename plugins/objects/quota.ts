/**
 * Quotas of buckets. The bytes of all versions, and of the parts of incomplete uploads, count. The counters are exact within the
 * transaction, so concurrent writers cannot exceed a quota by a single byte.
 *
 * Invariant: after a commit a bucket's bytes are at most its quota, or at most as many as before. So changes that do not increase
 * them always pass: deletes, delete markers, a smaller body in place of a larger one, the completion of an upload.
 */
import type { StorageService, Transaction } from 'svc/plugins/storage/api'
import type { BucketUsage } from './api.ts'
import type { BucketDocument } from './bucket-document.ts'
import { objectErrors } from './errors.ts'
import { counterKey } from './keys.ts'
import { decodeUsage, storedBytes } from './usage.ts'

/** What the bucket has before a change; undefined without a quota. */
export function usageBefore(tx: Transaction, name: string, bucket: BucketDocument): BucketUsage | undefined {
  return bucket.quotaBytes === undefined ? undefined : decodeUsage(tx.counter(counterKey(name)))
}

/** Called after a change that may have increased the bucket's bytes. Throws QuotaExceeded, which rolls it back. */
export function requireQuota(
  tx: Transaction,
  name: string,
  { quotaBytes }: BucketDocument,
  before: BucketUsage | undefined,
): void {
  if (quotaBytes === undefined || before === undefined) return
  const afterBytes = storedBytes(decodeUsage(tx.counter(counterKey(name))))
  if (afterBytes > quotaBytes && afterBytes > storedBytes(before)) throw exceeded(quotaBytes, afterBytes, before)
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
  const usage = decodeUsage(await storage.counter(counterKey(bucket.name)))
  const usedBytes = storedBytes(usage)
  if (usedBytes + sizeBytes <= quotaBytes) return
  const growthBytes = sizeBytes - (await replacedBytes())
  if (growthBytes > 0 && usedBytes + growthBytes > quotaBytes)
    throw exceeded(quotaBytes, usedBytes + growthBytes, usage)
}

/** Listings of a bucket do not show parts: who looks there for what takes its space finds less than the quota. */
function exceeded(quotaBytes: number, neededBytes: number, { uploadBytes }: BucketUsage): Error {
  const { title } = objectErrors.entries.QuotaExceeded
  const message =
    uploadBytes === 0
      ? title
      : `${title} Parts of uploads that are not completed count: they have ${uploadBytes} bytes at present.`
  return objectErrors.QuotaExceeded(message, {
    extra: { QuotaBytes: String(quotaBytes), NeededBytes: String(neededBytes), UploadBytes: String(uploadBytes) },
  })
}
