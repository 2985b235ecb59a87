/** The limit is kept in the bucket's record, which each commit reads anyway. */
import { type ObjectsService, objectErrors } from 'svc/plugins/objects/api'
import type { QuotaService } from './api.ts'

export function createQuota(objects: ObjectsService): QuotaService {
  return {
    async get(bucket) {
      return (await objects.getBucket(bucket)).quotaBytes ?? 0
    },
    async set(bucket, sizeBytes) {
      if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
        throw objectErrors.InvalidArgument('A quota is a number of bytes from 0 (none) to 2^53 - 1.')
      }
      return (await objects.changeBucket(bucket, { quotaBytes: sizeBytes })).quotaBytes ?? 0
    },
  }
}
