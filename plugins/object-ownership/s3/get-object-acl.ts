import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, versionHeader } from 'svc/plugins/s3/api'
import { describeAccessControl } from '../access-control.ts'

export default defineS3Operation<'iam' | 'objects'>({
  name: 'GetObjectAcl',
  summary: 'Returns the one access control list that every object has: its owner may do everything.',
  match: { method: 'GET', level: 'object', query: ['acl'] },
  action: 's3:GetObjectAcl',
  versionedAction: 's3:GetObjectVersionAcl',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'AccessControlPolicy' },
  errors: ['InvalidArgument', 'MethodNotAllowed', 'NoSuchBucket', 'NoSuchKey', 'NoSuchVersion'],
  async handle(request, { iam, objects }) {
    const { bucket, key, query } = request
    const version = await objects.getObject(bucket, key, query.get('versionId'))
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    return { headers: await versionHeader(request, objects, version.versionId), xml: describeAccessControl(iam.owner) }
  },
})
