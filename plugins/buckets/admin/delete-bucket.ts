import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from 'svc/plugins/lock/api'
import { Type } from 'typebox'
import { emptyBucket } from '../empty-bucket.ts'
import { BucketParameters } from './bucket-schema.ts'

export default defineAdminOperation({
  id: 'deleteBucket',
  method: 'DELETE',
  path: '/buckets/{bucket}',
  tag: 'buckets',
  summary: 'Deletes an empty bucket; with `force`, first every version, delete marker and upload in it.',
  authorize: [['s3:DeleteBucket', 's3:ForceDeleteBucket']],
  authorizeRequest: ({ query: { force } }) => ({ actions: [force ? 's3:ForceDeleteBucket' : 's3:DeleteBucket'] }),
  params: BucketParameters,
  query: Type.Object({ force: Type.Boolean({ default: false }) }),
  errors: ['bucket_not_empty', 'bucket_not_found', 'conflict'],
  uses: ['locks', 'objects'],
  async handle({ params: { bucket }, query: { force }, origin }, { locks, objects }) {
    if (!force) return objects.deleteBucket(bucket)
    await objects.getBucket(bucket)
    return locks.hold(`${bucket}/delete`, { source: 'deleteBucket' }, async ({ check }) => {
      await emptyBucket(objects, bucket, { origin, beforeCommit: check })
      await check()
      await objects.deleteBucket(bucket)
    })
  },
})
