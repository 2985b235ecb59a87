import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { describeQuota, Quota } from './quota-schema.ts'

export default defineAdminOperation({
  id: 'getBucketQuota',
  method: 'GET',
  path: '/buckets/{bucket}/quota',
  tag: 'buckets',
  summary: 'Returns the quota of a bucket.',
  authorize: ['admin:GetBucketQuota'],
  params: BucketParameters,
  response: Quota,
  errors: ['bucket_not_found'],
  uses: ['quota'],
  handle: async ({ params: { bucket } }, { quota }) => describeQuota(await quota.get(bucket)),
})
