import { BucketParameters, checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import { collectTags } from '../tag-set.ts'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'setBucketTags',
  method: 'PUT',
  path: '/buckets/{bucket}/tags',
  tag: 'buckets',
  summary: 'Replaces the tags of a bucket, at most 50; none removes them.',
  authorize: ['s3:PutBucketTagging'],
  params: BucketParameters,
  body: Tags,
  response: Tags,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  async handle({ params: { bucket }, body }, { objects }) {
    const tags = checkField('/tags', () => collectTags(Object.entries(body.tags), 'bucket'))
    return { tags: Object.fromEntries((await objects.changeBucket(bucket, { tags })).tags) }
  },
})
