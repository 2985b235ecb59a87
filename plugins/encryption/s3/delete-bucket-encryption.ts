import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketEncryption',
  summary: 'Removes the default encryption of a bucket. Existing objects stay as they are.',
  match: { method: 'DELETE', level: 'bucket', query: ['encryption'] },
  action: 's3:PutEncryptionConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['encryption', 'objects'],
  async handle({ bucket }, { encryption, objects }) {
    await objects.getBucket(bucket)
    await encryption.replace(bucket, undefined)
    return {}
  },
})
