import { defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import { accessControlElements, readAccessControl, requireFixedAccessControl } from '../access-control.ts'
import { requirePermittedAcl } from '../requests.ts'

export default defineS3Operation({
  name: 'PutBucketAcl',
  summary:
    'Sets a canned access control list of a bucket; where lists are off, accepts only the one that holds anyway.',
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
    'AccessDenied',
    'InvalidArgument',
    'InvalidRequest',
    'MalformedACLError',
    'MalformedXML',
    'MissingSecurityHeader',
    'NoSuchBucket',
    'UnexpectedContent',
  ],
  uses: ['iam', 'objectOwnership', 'objects'],
  async handle(request, { iam, objectOwnership, objects }) {
    const { bucket } = request
    await objects.getBucket(bucket)
    if ((await objectOwnership.accessControl(bucket)) === undefined) {
      await requireFixedAccessControl(request, iam.owner)
      return {}
    }
    const acl = readAccessControl(request, iam.owner)
    await requirePermittedAcl(bucket, acl, objectOwnership)
    await objectOwnership.changeAccessControl(bucket, former => {
      // Turned off meanwhile.
      if (former === undefined) throw s3Errors.AccessControlListNotSupported()
      return { ownership: former.ownership, acl }
    })
    return {}
  },
})
