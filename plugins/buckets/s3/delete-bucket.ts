import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation<'objects'>({
  name: 'DeleteBucket',
  summary: 'Deletes a bucket without objects, versions and delete markers; its uploads in progress are aborted.',
  match: { method: 'DELETE', level: 'bucket' },
  action: 's3:DeleteBucket',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['BucketNotEmpty', 'NoSuchBucket'],
  async handle({ bucket }, { objects }) {
    await objects.deleteBucket(bucket)
    return {}
  },
})
