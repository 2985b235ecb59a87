import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BucketParameters } from './policy-schema.ts'

export default defineAdminOperation({
  id: 'deleteBucketPolicy',
  method: 'DELETE',
  path: '/buckets/{bucket}/policy',
  tag: 'buckets',
  summary: 'Removes the policy of a bucket, also one that cannot be read. Succeeds if there is none.',
  authorize: ['s3:DeleteBucketPolicy'],
  params: BucketParameters,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['bucketPolicy', 'objects'],
  async handle({ params: { bucket }, ifMatch }, { bucketPolicy, objects }) {
    await objects.getBucket(bucket)
    await bucketPolicy.replace(bucket, undefined, { ifMatch })
  },
})
