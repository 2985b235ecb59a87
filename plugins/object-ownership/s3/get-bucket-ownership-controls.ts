import { defineS3Operation } from 'svc/plugins/s3/api'
import { ownershipErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetBucketOwnershipControls',
  summary: 'Returns the object ownership of a bucket: BucketOwnerEnforced where access control lists are off.',
  match: { method: 'GET', level: 'bucket', query: ['ownershipControls'] },
  action: 's3:GetBucketOwnershipControls',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'OwnershipControls' },
  errors: ['NoSuchBucket', 'OwnershipControlsNotFoundError'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    if (!(await objectOwnership.hasOwnershipControls(bucket))) {
      throw ownershipErrors.OwnershipControlsNotFoundError(undefined, { extra: { BucketName: bucket } })
    }
    const { ownership = 'BucketOwnerEnforced' } = (await objectOwnership.accessControl(bucket)) ?? {}
    return { xml: { Rule: { ObjectOwnership: ownership } } }
  },
})
