import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { describeQuota, Quota } from './quota-schema.ts'

export default defineAdminOperation({
  id: 'setBucketQuota',
  method: 'PUT',
  path: '/buckets/{bucket}/quota',
  tag: 'buckets',
  summary: 'Sets the quota of a bucket. Below the present use it only refuses further growth; 0 removes it.',
  authorize: ['admin:SetBucketQuota'],
  params: BucketParameters,
  body: Quota,
  response: Quota,
  errors: ['bucket_not_found'],
  uses: ['quota'],
  handle: async ({ params: { bucket }, body: { size } }, { quota }) => describeQuota(await quota.set(bucket, size)),
})
