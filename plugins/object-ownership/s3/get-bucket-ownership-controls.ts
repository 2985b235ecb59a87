import { defineS3Operation } from 'svc/plugins/s3/api'
import { ownershipErrors } from '../errors.ts'

export default defineS3Operation<'objectOwnership' | 'objects'>({
  name: 'GetBucketOwnershipControls',
  summary: 'Says who owns objects of a bucket: its owner, with access control lists off.',
  match: { method: 'GET', level: 'bucket', query: ['ownershipControls'] },
  action: 's3:GetBucketOwnershipControls',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'OwnershipControls' },
  errors: ['NoSuchBucket', 'OwnershipControlsNotFoundError'],
  async handle({ bucket }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    if (!(await objectOwnership.hasOwnershipControls(bucket))) {
      throw ownershipErrors.OwnershipControlsNotFoundError(undefined, { extra: { BucketName: bucket } })
    }
    return { xml: { Rule: { ObjectOwnership: 'BucketOwnerEnforced' } } }
  },
})
