import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from 'svc/plugins/lock/api'
import { Type } from 'typebox'
import { contentEtagOf } from '../content-etag.ts'
import { deleteWithContent } from '../empty-bucket.ts'
import { BucketParameters } from './bucket-schema.ts'

export default defineAdminOperation({
  id: 'deleteBucket',
  method: 'DELETE',
  path: '/buckets/{bucket}',
  tag: 'buckets',
  summary:
    'Deletes a bucket without versions and delete markers that no distribution names, and with it the uploads that are not completed; with `force`, first every version and delete marker, unless object lock protects a version: then nothing is deleted. With `If-Match`, only if the bucket has this `contentEtag`; versions that are written to it from then on stay, and the bucket with them.',
  authorize: [['s3:DeleteBucket', 's3:ForceDeleteBucket']],
  authorizeRequest: ({ query: { force } }) => ({ actions: [force ? 's3:ForceDeleteBucket' : 's3:DeleteBucket'] }),
  params: BucketParameters,
  query: Type.Object({ force: Type.Boolean({ default: false }) }),
  etag: true,
  errors: ['bucket_in_use', 'bucket_not_empty', 'bucket_not_found', 'conflict', 'precondition_failed'],
  uses: ['locks', 'objects', 'ports', 'publications'],
  async handle(
    { params: { bucket }, query: { force }, origin, ifMatch },
    { locks, objects, publications, ports: { clock } },
  ) {
    const seen = await objects.getBucket(bucket)
    const writtenUntilMs = ifMatch === undefined ? undefined : clock.now()
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== contentEtagOf(seen, await objects.usage(bucket))) {
      throw adminErrors.precondition_failed('The bucket has other content than If-Match names. Nothing was deleted.')
    }
    await publications.requireNone(bucket)
    if (!force) return objects.deleteBucket(bucket)
    return locks.hold(`${bucket}/delete`, { source: 'deleteBucket' }, ({ check }) =>
      deleteWithContent(objects, bucket, { now: clock.now, origin, beforeCommit: check, writtenUntilMs }),
    )
  },
})
