/** Quotas of buckets: a limit on the bytes that a bucket may have. They are held to by `objects`, in the commit. */

import type { Bucket } from 'svc/plugins/objects/api'

export { requireQuota } from './quota-bytes.ts'

export interface QuotaService {
  /** Bytes; 0 where there is none. Throws NoSuchBucket. */
  get(bucket: string): Promise<number>
  /**
   * 0 removes it. `ifMatch`: the ETag of the present one. Resolves with the bucket after the change. Throws NoSuchBucket, PreconditionFailed, and
   * InvalidArgument if it is not a number of bytes.
   */
  set(bucket: string, sizeBytes: number, ifMatch?: string): Promise<Bucket>
}

declare module 'svc/kernel' {
  interface Services {
    quota: QuotaService
  }
}
