import { defineS3Operation } from 'svc/plugins/s3/api'
import { requireDocument } from '../stored-document.ts'

export default defineS3Operation({
  name: 'GetBucketPolicy',
  summary: 'Returns the policy of a bucket, byte for byte as it was put.',
  match: { method: 'GET', level: 'bucket', query: ['policy'] },
  action: 's3:GetBucketPolicy',
  body: { kind: 'none' },
  reply: { kind: 'data' },
  errors: ['NoSuchBucket', 'NoSuchBucketPolicy'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ bucket }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    const { text } = requireDocument(bucket, await bucketPolicy.get(bucket))
    const bytes = Buffer.from(text)
    return { headers: { 'Content-Type': 'application/json' }, data: { kind: 'whole', bytes }, sizeBytes: bytes.length }
  },
})
