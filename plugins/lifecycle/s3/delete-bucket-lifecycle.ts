import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketLifecycle',
  summary: 'Removes the lifecycle rules of a bucket.',
  match: { method: 'DELETE', level: 'bucket', query: ['lifecycle'] },
  action: 's3:PutLifecycleConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['lifecycle', 'objects'],
  async handle({ bucket }, { lifecycle, objects }) {
    await objects.getBucket(bucket)
    await lifecycle.replace(bucket, [])
    return {}
  },
})
