import { authorizeChange, BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { etagOfField } from 'svc/plugins/objects/api'
import { readTags } from '../admin-tags.ts'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'setBucketTags',
  method: 'PUT',
  path: '/buckets/{bucket}/tags',
  tag: 'buckets',
  summary: 'Replaces the tags of a bucket, at most 50; none removes them.',
  authorize: ['s3:PutBucketTagging'],
  authorizeRequest: authorizeChange('s3:PutBucketTagging', 's3:GetBucketTagging'),
  params: BucketParameters,
  body: Tags,
  response: Tags,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['objects'],
  async handle({ params: { bucket }, body, ifMatch }, { objects }) {
    const tags = readTags(body.tags, 'bucket')
    const stored = await objects.changeBucket(bucket, { tags, ifMatch: { tags: ifMatch } })
    return replyWith({ tags: Object.fromEntries(stored.tags) }, { etag: etagOfField(stored, 'tags') })
  },
})
