import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketPolicy',
  summary: 'Removes the policy of a bucket, also one that cannot be read.',
  match: { method: 'DELETE', level: 'bucket', query: ['policy'] },
  action: 's3:DeleteBucketPolicy',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ bucket }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    await bucketPolicy.replace(bucket, undefined)
    return {}
  },
})
