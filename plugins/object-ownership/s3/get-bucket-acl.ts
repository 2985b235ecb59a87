import { defineS3Operation } from 'svc/plugins/s3/api'
import { describeAccessControl } from '../access-control.ts'

export default defineS3Operation({
  name: 'GetBucketAcl',
  summary:
    'Returns the access control list of a bucket: its owner may do everything, and others what a canned list grants.',
  match: { method: 'GET', level: 'bucket', query: ['acl'] },
  action: 's3:GetBucketAcl',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'AccessControlPolicy' },
  errors: ['NoSuchBucket'],
  uses: ['iam', 'objectOwnership', 'objects'],
  async handle({ bucket }, { iam, objectOwnership, objects }) {
    await objects.getBucket(bucket)
    const accessControl = await objectOwnership.accessControl(bucket)
    return { xml: describeAccessControl(iam.owner, accessControl?.acl) }
  },
})
