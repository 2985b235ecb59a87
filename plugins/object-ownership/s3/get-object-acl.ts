import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { describeAccessControl } from '../access-control.ts'

export default defineS3Operation({
  name: 'GetObjectAcl',
  summary:
    'Returns the access control list of an object: its owner may do everything, and others what a canned list grants.',
  match: { method: 'GET', level: 'object', query: ['acl'] },
  action: 's3:GetObjectAcl',
  versionedAction: 's3:GetObjectVersionAcl',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'AccessControlPolicy' },
  errors: ['InvalidArgument', 'MethodNotAllowed', 'NoSuchBucket', 'NoSuchKey', 'NoSuchVersion'],
  uses: ['iam', 'objectOwnership', 'objects'],
  async handle(request, { iam, objectOwnership, objects }) {
    const { bucket, key, query } = request
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    const isOn = (await objectOwnership.accessControl(bucket)) !== undefined
    return {
      headers: await versionHeader(request, objects, version.versionId),
      xml: describeAccessControl(iam.owner, isOn ? version.acl : undefined),
    }
  },
})
