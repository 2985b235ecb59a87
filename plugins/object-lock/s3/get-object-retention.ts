import { onDeleteMarker } from 'svc/plugins/objects/api'
import { defineS3Operation, isoTime } from 'svc/plugins/s3/api'
import { objectLockErrors } from '../errors.ts'
import { requireLockBucket } from '../retention.ts'

export default defineS3Operation({
  name: 'GetObjectRetention',
  summary: 'Returns the retention of an object: its time and its mode.',
  match: { method: 'GET', level: 'object', query: ['retention'] },
  action: 's3:GetObjectRetention',
  versionedAction: 's3:GetObjectRetention',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'Retention' },
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
    const retention = lock?.retention
    if (retention === undefined)
      throw objectLockErrors.NoSuchObjectLockConfiguration(undefined, { extra: { Key: key } })
    return { xml: { Mode: retention.mode, RetainUntilDate: isoTime(retention.retainUntilMs) } }
  },
})
