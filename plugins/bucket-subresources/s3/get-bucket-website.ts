import { defineS3Operation } from 'svc/plugins/s3/api'
import { settingErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetBucketWebsite',
  summary: 'Says that a bucket is no website of its own.',
  match: { method: 'GET', level: 'bucket', query: ['website'] },
  action: 's3:GetBucketWebsite',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'WebsiteConfiguration' },
  errors: ['NoSuchBucket', 'NoSuchWebsiteConfiguration'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    await objects.getBucket(bucket)
    throw settingErrors.NoSuchWebsiteConfiguration(undefined, { extra: { BucketName: bucket } })
  },
})
