import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'getBucketTags',
  method: 'GET',
  path: '/buckets/{bucket}/tags',
  tag: 'buckets',
  summary: 'Returns the tags of a bucket.',
  authorize: ['s3:GetBucketTagging'],
  params: BucketParameters,
  response: Tags,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  handle: async ({ params }, { objects }) => ({
    tags: Object.fromEntries((await objects.getBucket(params.bucket)).tags),
  }),
})
