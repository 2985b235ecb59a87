import { mayBypassGovernance } from 'svc/plugins/object-lock/api'
import { allowedDeleteConditions, defineS3Operation } from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'DeleteObject',
  summary: 'Deletes an object; a missing object is no error.',
  match: { method: 'DELETE', level: 'object' },
  action: 's3:DeleteObject',
  versionedAction: 's3:DeleteObjectVersion',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['AccessDenied', 'InvalidArgument', 'NoSuchBucket', 'PreconditionFailed'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query } = request
    const named = query.get('versionId')
    const { origin } = request
    const options =
      named === undefined ? { origin } : { origin, bypassGovernance: mayBypassGovernance(request, key, named) }
    const conditions = allowedDeleteConditions(request)
    const { versionId, isDeleteMarker } = await objects.deleteObject(bucket, key, named, conditions, options)
    return {
      headers: {
        'x-amz-version-id': versionId,
        'x-amz-delete-marker': isDeleteMarker ? 'true' : undefined,
      },
    }
  },
})
