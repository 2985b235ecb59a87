import { defineS3Operation } from 'svc/plugins/s3/api'
import { accessControlElements, requireFixedAccessControl } from '../access-control.ts'

export default defineS3Operation<'iam' | 'objects'>({
  name: 'PutBucketAcl',
  summary: 'Accepts the access control list that a bucket has anyway, and refuses every other.',
  match: { method: 'PUT', level: 'bucket', query: ['acl'] },
  action: 's3:PutBucketAcl',
  features: ['x-amz-acl'],
  body: {
    kind: 'xml',
    root: 'AccessControlPolicy',
    elements: accessControlElements,
    maxBytes: 64 * 1024,
    optional: true,
  },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'AccessControlListNotSupported',
    'InvalidArgument',
    'MalformedXML',
    'MissingSecurityHeader',
    'NoSuchBucket',
    'UnexpectedContent',
  ],
  async handle(request, { iam, objects }) {
    await objects.getBucket(request.bucket)
    await requireFixedAccessControl(request, iam.owner)
    return {}
  },
})
