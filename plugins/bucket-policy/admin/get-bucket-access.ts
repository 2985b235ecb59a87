import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BucketParameters } from './policy-schema.ts'
import { describeAccess, SimpleAccess } from './simple-access-schema.ts'

export default defineAdminOperation({
  id: 'getBucketAccess',
  method: 'GET',
  path: '/buckets/{bucket}/access',
  tag: 'buckets',
  summary: 'Returns the presets of simple access, which allow everybody to read or write.',
  authorize: ['s3:GetBucketPolicy'],
  params: BucketParameters,
  response: SimpleAccess,
  errors: ['bucket_not_found', 'document_unreadable'],
  uses: ['bucketPolicy', 'objects', 'policy'],
  async handle({ params: { bucket } }, { bucketPolicy, objects, policy }) {
    await objects.getBucket(bucket)
    return describeAccess(bucketPolicy, policy, bucket)
  },
})
