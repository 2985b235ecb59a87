import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BlockPublicAccess, BucketParameters, describeBlock } from './block-public-schema.ts'

export default defineAdminOperation({
  id: 'getBucketBlockPublic',
  method: 'GET',
  path: '/buckets/{bucket}/block-public',
  tag: 'access-rules',
  summary: 'Says whether public access to a bucket is blocked, by itself or by the cluster.',
  authorize: [['s3:GetBucketPublicAccessBlock', 'admin:ManageAccessRules']],
  params: BucketParameters,
  response: BlockPublicAccess,
  errors: ['bucket_not_found'],
  uses: ['objectOwnership', 'objects'],
  async handle({ params: { bucket } }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    return describeBlock(bucket, objectOwnership)
  },
})
