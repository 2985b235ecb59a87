import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Quota, replyWithQuota } from './quota-schema.ts'

export default defineAdminOperation({
  id: 'getBucketQuota',
  method: 'GET',
  path: '/buckets/{bucket}/quota',
  tag: 'buckets',
  summary: 'Returns the quota of a bucket.',
  authorize: ['admin:GetBucketQuota'],
  params: BucketParameters,
  response: Quota,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  handle: async ({ params }, { objects }) => replyWithQuota(await objects.getBucket(params.bucket)),
})
