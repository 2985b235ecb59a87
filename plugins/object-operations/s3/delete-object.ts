import { defineS3Operation, readDeleteConditions } from 'svc/plugins/s3/api'

export default defineS3Operation<'objects'>({
  name: 'DeleteObject',
  summary: 'Deletes an object; one that is not there is deleted, too.',
  match: { method: 'DELETE', level: 'object' },
  action: 's3:DeleteObject',
  versionedAction: 's3:DeleteObjectVersion',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  errors: ['InvalidArgument', 'NoSuchBucket', 'PreconditionFailed'],
  async handle({ bucket, key, query, headers }, { objects }) {
    const conditions = readDeleteConditions(headers)
    const { versionId, isDeleteMarker } = await objects.deleteObject(bucket, key, query.get('versionId'), conditions)
    return {
      headers: {
        'x-amz-version-id': versionId,
        'x-amz-delete-marker': isDeleteMarker ? 'true' : undefined,
      },
    }
  },
})
