import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { accessControlElements, readAccessControl, requireFixedAccessControl } from '../access-control.ts'
import { requirePermittedAcl } from '../requests.ts'

export default defineS3Operation({
  name: 'PutObjectAcl',
  summary:
    'Sets a canned access control list of an object; where lists are off, accepts only the one that holds anyway.',
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
    'AccessDenied',
    'InvalidArgument',
    'InvalidRequest',
    'MalformedACLError',
    'MalformedXML',
    'MethodNotAllowed',
    'MissingSecurityHeader',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
    'UnexpectedContent',
  ],
  uses: ['iam', 'objectOwnership', 'objects'],
  async handle(request, { iam, objectOwnership, objects }) {
    const { bucket, key, query, origin } = request
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    if ((await objectOwnership.accessControl(bucket)) === undefined) {
      await requireFixedAccessControl(request, iam.owner)
      // A list of the time when they were on would count again when they are.
      if (version.acl !== undefined) await objects.changeVersion(bucket, key, version.versionId, { acl: null }, origin)
    } else {
      const acl = readAccessControl(request, iam.owner)
      await requirePermittedAcl(bucket, acl, objectOwnership)
      await objects.changeVersion(bucket, key, version.versionId, { acl: acl ?? null }, origin)
    }
    return { headers: await versionHeader(request, objects, version.versionId) }
  },
})
