import { defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import { deleteWithContent } from '../empty-bucket.ts'

/** Clients of MinIO ask with it for a bucket to be emptied first. */
const forceHeader = 'x-minio-force-delete'

export default defineS3Operation({
  name: 'DeleteBucket',
  summary:
    'Deletes a bucket without objects, versions and delete markers, and without distributions; its uploads in progress are aborted.',
  match: { method: 'DELETE', level: 'bucket' },
  action: 's3:DeleteBucket',
  body: { kind: 'none' },
  reply: { kind: 'empty', status: 204 },
  features: [forceHeader],
  errors: ['AccessDenied', 'BucketInUse', 'BucketNotEmpty', 'NoSuchBucket'],
  uses: ['objects', 'ports', 'publications'],
  async handle({ bucket, headers, isAllowed, origin }, { objects, ports: { clock }, publications }) {
    await publications.requireNone(bucket)
    if (headers[forceHeader] === 'true') {
      if (!isAllowed('s3:ForceDeleteBucket', bucket, '')) throw s3Errors.AccessDenied()
      await deleteWithContent(objects, bucket, { now: clock.now, origin })
    } else await objects.deleteBucket(bucket)
    return {}
  },
})
