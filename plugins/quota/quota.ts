/** The limit is kept in the bucket's record, which each commit reads anyway. */
import type { ObjectsService } from 'svc/plugins/objects/api'
import type { QuotaService } from './api.ts'
import { requireQuota } from './quota-bytes.ts'

export function createQuota(objects: ObjectsService): QuotaService {
  return {
    async get(bucket) {
      return (await objects.getBucket(bucket)).quotaBytes ?? 0
    },
    async set(bucket, sizeBytes, ifMatch) {
      requireQuota(sizeBytes)
      return objects.changeBucket(bucket, { quotaBytes: sizeBytes, ifMatch: { quotaBytes: ifMatch } })
    },
  }
}
