import { defineS3Operation } from 'svc/plugins/s3/api'
import { objectLockErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetObjectLockConfiguration',
  summary: 'Returns whether a bucket has object lock, and its default retention.',
  match: { method: 'GET', level: 'bucket', query: ['object-lock'] },
  action: 's3:GetBucketObjectLockConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ObjectLockConfiguration' },
  errors: ['NoSuchBucket', 'ObjectLockConfigurationNotFoundError'],
  uses: ['objects'],
  async handle({ bucket }, { objects }) {
    const { objectLock } = await objects.getBucket(bucket)
    if (objectLock === undefined) {
      throw objectLockErrors.ObjectLockConfigurationNotFoundError(undefined, { extra: { BucketName: bucket } })
    }
    const byDefault = objectLock.defaultRetention
    return {
      xml: {
        ObjectLockEnabled: 'Enabled',
        Rule:
          byDefault === undefined
            ? undefined
            : { DefaultRetention: { Mode: byDefault.mode, Days: byDefault.days, Years: byDefault.years } },
      },
    }
  },
})
