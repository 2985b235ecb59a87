import { noTags } from 'svc/plugins/objects/api'
import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketTagging',
  summary: 'Removes the tags of a bucket.',
  match: { method: 'DELETE', level: 'bucket', query: ['tagging'] },
  // As on AWS: there is no action of its own.
  action: 's3:PutBucketTagging',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.changeBucket(bucket, { tags: noTags })
    return {}
  },
})
