import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { ObjectLock, replyWithObjectLock } from './object-lock-schema.ts'

export default defineAdminOperation({
  id: 'getBucketObjectLock',
  method: 'GET',
  path: '/buckets/{bucket}/objectlock',
  tag: 'buckets',
  summary: 'Returns whether a bucket has object lock, and its default retention.',
  authorize: ['s3:GetBucketObjectLockConfiguration'],
  params: BucketParameters,
  response: ObjectLock,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  handle: async ({ params }, { objects }) => replyWithObjectLock(await objects.getBucket(params.bucket)),
})
