/** Quotas of buckets: a limit on the bytes that a bucket may have. They are held to by `objects`, in the commit. */

export { requireQuota } from './quota-bytes.ts'

export interface QuotaService {
  /** Bytes; 0 where there is none. Throws NoSuchBucket. */
  get(bucket: string): Promise<number>
  /** 0 removes it. Resolves with the new quota. Throws NoSuchBucket, and InvalidArgument if it is not a number of bytes. */
  set(bucket: string, sizeBytes: number): Promise<number>
}

declare module 'svc/kernel' {
  interface Services {
    quota: QuotaService
  }
}
