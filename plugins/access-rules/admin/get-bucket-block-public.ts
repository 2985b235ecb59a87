import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BlockPublicAccess, BucketParameters, blockActions, replyWithBlock } from './block-public-schema.ts'

export default defineAdminOperation({
  id: 'getBucketBlockPublic',
  method: 'GET',
  path: '/buckets/{bucket}/block-public',
  tag: 'access-rules',
  summary: 'Says whether public access to a bucket is blocked, by itself or by the cluster.',
  authorize: [blockActions.bucket.read],
  params: BucketParameters,
  response: BlockPublicAccess,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['objectOwnership', 'objects'],
  async handle({ params: { bucket } }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    return replyWithBlock(bucket, objectOwnership)
  },
})
