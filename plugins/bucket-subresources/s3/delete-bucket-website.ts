import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketWebsite',
  summary: 'Succeeds: there is no website to remove.',
  match: { method: 'DELETE', level: 'bucket', query: ['website'] },
  action: 's3:DeleteBucketWebsite',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    return {}
  },
})
