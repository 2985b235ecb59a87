import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation } from 'svc/plugins/s3/api'
import { objectLockErrors } from '../errors.ts'
import { requireLockBucket } from '../retention.ts'

export default defineS3Operation({
  name: 'GetObjectLegalHold',
  summary: 'Returns whether an object is under a legal hold.',
  match: { method: 'GET', level: 'object', query: ['legal-hold'] },
  action: 's3:GetObjectLegalHold',
  versionedAction: 's3:GetObjectLegalHold',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'LegalHold' },
  errors: [
    'InvalidArgument',
    'InvalidRequest',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchObjectLockConfiguration',
    'NoSuchVersion',
  ],
  uses: ['objects'],
  async handle({ bucket, key, query }, { objects }) {
    requireLockBucket(await objects.getBucket(bucket))
    const { isDeleteMarker, versionId, lock } = await objects.getObject(bucket, key, query.get('versionId'))
    if (isDeleteMarker) throw onDeleteMarker(versionId)
    if (lock?.legalHold === undefined) {
      throw objectLockErrors.NoSuchObjectLockConfiguration(undefined, { extra: { Key: key } })
    }
    return { xml: { Status: lock.legalHold ? 'ON' : 'OFF' } }
  },
})
