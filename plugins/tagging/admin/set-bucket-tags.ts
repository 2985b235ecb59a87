import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { readTags } from '../admin-tags.ts'
import { etagOfTags, expectTags } from '../tags-etag.ts'
import { Tags } from './tags-schema.ts'

export default defineAdminOperation({
  id: 'setBucketTags',
  method: 'PUT',
  path: '/buckets/{bucket}/tags',
  tag: 'buckets',
  summary: 'Replaces the tags of a bucket, at most 50; none removes them.',
  authorize: ['s3:PutBucketTagging'],
  // The outcome of `If-Match` reveals the present tags.
  authorizeRequest: ({ ifMatch }) => ({
    actions: ['s3:PutBucketTagging', ...(ifMatch === undefined ? [] : ['s3:GetBucketTagging'])],
  }),
  params: BucketParameters,
  body: Tags,
  response: Tags,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['objects'],
  async handle({ params: { bucket }, body, ifMatch }, { objects }) {
    const tags = readTags(body.tags, 'bucket')
    const expected = expectTags((await objects.getBucket(bucket)).tags, ifMatch)
    const stored = await objects.changeBucket(bucket, { tags, ...expected })
    return replyWith({ tags: Object.fromEntries(stored.tags) }, { etag: etagOfTags(stored.tags) })
  },
})
