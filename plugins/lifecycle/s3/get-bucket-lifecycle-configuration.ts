import { defineS3Operation } from 'svc/plugins/s3/api'
import { lifecycleErrors } from '../errors.ts'
import { describeLifecycleRule } from '../rule-xml.ts'
import { minimumHeader } from '../transition-minimum.ts'

export default defineS3Operation({
  name: 'GetBucketLifecycleConfiguration',
  summary: 'Returns the lifecycle rules of a bucket, as they were put.',
  match: { method: 'GET', level: 'bucket', query: ['lifecycle'] },
  action: 's3:GetLifecycleConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'LifecycleConfiguration' },
  errors: ['NoSuchBucket', 'NoSuchLifecycleConfiguration'],
  uses: ['lifecycle', 'objects'],
  async handle({ bucket }, { lifecycle, objects }) {
    await objects.getBucket(bucket)
    const { rules, transitionMinimum } = await lifecycle.configuration(bucket)
    if (rules.length === 0) {
      throw lifecycleErrors.NoSuchLifecycleConfiguration(undefined, { extra: { BucketName: bucket } })
    }
    return { headers: { [minimumHeader]: transitionMinimum }, xml: { Rule: rules.map(describeLifecycleRule) } }
  },
})
