import { defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteBucketOwnershipControls',
  summary: 'Removes the ownership controls; access control lists stay on or off.',
  match: { method: 'DELETE', level: 'bucket', query: ['ownershipControls'] },
  action: 's3:PutBucketOwnershipControls',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['NoSuchBucket'],
  uses: ['objectOwnership', 'objects'],
  async handle({ bucket }, { objectOwnership, objects }) {
    await objects.getBucket(bucket)
    await objectOwnership.setOwnershipControls(bucket, false)
    return {}
  },
})
