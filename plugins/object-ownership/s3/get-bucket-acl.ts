import { defineS3Operation } from 'svc/plugins/s3/api'
import { describeAccessControl } from '../access-control.ts'

export default defineS3Operation<'iam' | 'objects'>({
  name: 'GetBucketAcl',
  summary: 'Returns the one access control list that every bucket has: its owner may do everything.',
  match: { method: 'GET', level: 'bucket', query: ['acl'] },
  action: 's3:GetBucketAcl',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'AccessControlPolicy' },
  errors: ['NoSuchBucket'],
  async handle({ bucket }, { iam, objects }) {
    await objects.getBucket(bucket)
    return { xml: describeAccessControl(iam.owner) }
  },
})
