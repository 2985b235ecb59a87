import { adminErrors, authorizeChange, defineAdminOperation } from 'svc/plugins/admin/api'
import { BucketParameters } from './bucket-schema.ts'
import { replyWithVersioning, Versioning } from './versioning-schema.ts'

export default defineAdminOperation({
  id: 'setBucketVersioning',
  method: 'PUT',
  path: '/buckets/{bucket}/versioning',
  tag: 'buckets',
  summary: 'Enables or suspends versioning. There is no way back to `off`, nor to `suspended` under object lock.',
  authorize: ['s3:PutBucketVersioning'],
  authorizeRequest: authorizeChange('s3:PutBucketVersioning', 's3:GetBucketVersioning'),
  params: BucketParameters,
  body: Versioning,
  response: Versioning,
  etag: true,
  errors: ['bucket_not_found', 'conflict', 'precondition_failed'],
  uses: ['objects'],
  async handle({ params: { bucket }, body: { status }, ifMatch }, { objects }) {
    const current = await objects.getBucket(bucket)
    if (current.versioning === status) return replyWithVersioning(current)
    if (status === 'off') throw adminErrors.conflict('Versioning was enabled: it can be suspended, not switched off.')
    return replyWithVersioning(
      await objects.changeBucket(bucket, { versioning: status, ifMatch: { versioning: ifMatch } }),
    )
  },
})
