import { authorizeChange, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Quota, replyWithQuota } from './quota-schema.ts'

export default defineAdminOperation({
  id: 'setBucketQuota',
  method: 'PUT',
  path: '/buckets/{bucket}/quota',
  tag: 'buckets',
  summary: 'Sets the quota of a bucket. Below the present use it only refuses further growth; 0 removes it.',
  authorize: ['admin:SetBucketQuota'],
  authorizeRequest: authorizeChange('admin:SetBucketQuota', 'admin:GetBucketQuota'),
  params: BucketParameters,
  body: Quota,
  response: Quota,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['quota'],
  handle: async ({ params: { bucket }, body: { size }, ifMatch }, { quota }) =>
    replyWithQuota(await quota.set(bucket, size, ifMatch)),
})
