import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeletePublicAccessBlock',
  summary: 'Removes what was said of public access: then nothing is blocked by the bucket itself.',
  match: { method: 'DELETE', level: 'bucket', query: ['publicAccessBlock'] },
  action: 's3:PutBucketPublicAccessBlock',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    await objectOwnership.setPublicAccessBlock(bucket, undefined)
    return {}
  },
})
