import { defineS3Operation } from 'svc/plugins/s3/api'
import { ownershipErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetPublicAccessBlock',
  summary: 'Says which public access is blocked in a bucket.',
  match: { method: 'GET', level: 'bucket', query: ['publicAccessBlock'] },
  action: 's3:GetBucketPublicAccessBlock',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'PublicAccessBlockConfiguration' },
  errors: ['NoSuchBucket', 'NoSuchPublicAccessBlockConfiguration'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    const block = await objectOwnership.publicAccessBlock(bucket)
    if (block === undefined) {
      throw ownershipErrors.NoSuchPublicAccessBlockConfiguration(undefined, { extra: { BucketName: bucket } })
    }
    return {
      xml: {
        BlockPublicAcls: block.blockPublicAcls,
        IgnorePublicAcls: block.ignorePublicAcls,
        BlockPublicPolicy: block.blockPublicPolicy,
        RestrictPublicBuckets: block.restrictPublicBuckets,
      },
    }
  },
})
