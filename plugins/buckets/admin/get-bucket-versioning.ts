import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BucketParameters } from './bucket-schema.ts'
import { replyWithVersioning, Versioning } from './versioning-schema.ts'

export default defineAdminOperation({
  id: 'getBucketVersioning',
  method: 'GET',
  path: '/buckets/{bucket}/versioning',
  tag: 'buckets',
  summary: 'Returns whether the bucket keeps versions.',
  authorize: ['s3:GetBucketVersioning'],
  params: BucketParameters,
  response: Versioning,
  etag: true,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  handle: async ({ params }, { objects }) => replyWithVersioning(await objects.getBucket(params.bucket)),
})
