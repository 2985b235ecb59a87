import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketCors',
  summary: 'Removes the CORS rules of a bucket.',
  match: { method: 'DELETE', level: 'bucket', query: ['cors'] },
  action: 's3:PutBucketCORS',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['cors', 'objects'],
  async handle({ bucket }, { cors, objects }) {
    await objects.getBucket(bucket)
    await cors.replace(bucket, [])
    return {}
  },
})
