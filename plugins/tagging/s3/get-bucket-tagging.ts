import { defineS3Operation } from 'svc/plugins/s3/api'
import { taggingErrors } from '../errors.ts'
import { describeTags } from '../tag-set.ts'

export default defineS3Operation({
  name: 'GetBucketTagging',
  summary: 'Returns the tags of a bucket.',
  match: { method: 'GET', level: 'bucket', query: ['tagging'] },
  action: 's3:GetBucketTagging',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'Tagging' },
  errors: ['NoSuchBucket', 'NoSuchTagSet'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    const { tags } = await objects.getBucket(bucket)
    if (tags.size === 0) throw taggingErrors.NoSuchTagSet(undefined, { extra: { BucketName: bucket } })
    return { xml: describeTags(tags) }
  },
})
