import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation<'objects'>({
  name: 'GetBucketLogging',
  summary: 'Says that access logging is off.',
  match: { method: 'GET', level: 'bucket', query: ['logging'] },
  action: 's3:GetBucketLogging',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'BucketLoggingStatus' },
  errors: ['NoSuchBucket'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    return { xml: {} }
  },
})
