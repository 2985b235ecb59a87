import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { etagOfField } from 'svc/plugins/objects/api'
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
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  async handle({ params }, { objects }) {
    const bucket = await objects.getBucket(params.bucket)
    return replyWith({ tags: Object.fromEntries(bucket.tags) }, { etag: etagOfField(bucket, 'tags') })
  },
})
