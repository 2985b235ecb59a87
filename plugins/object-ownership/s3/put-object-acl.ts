import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { accessControlElements, requireFixedAccessControl } from '../access-control.ts'

export default defineS3Operation<'iam' | 'objects'>({
  name: 'PutObjectAcl',
  summary: 'Accepts the access control list that an object has anyway, and refuses every other.',
  match: { method: 'PUT', level: 'object', query: ['acl'] },
  action: 's3:PutObjectAcl',
  versionedAction: 's3:PutObjectVersionAcl',
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
    'MethodNotAllowed',
    'MissingSecurityHeader',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
    'UnexpectedContent',
  ],
  async handle(request, { iam, objects }) {
    const { bucket, key, query } = request
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    await requireFixedAccessControl(request, iam.owner)
    return { headers: await versionHeader(request, objects, version.versionId) }
  },
})
