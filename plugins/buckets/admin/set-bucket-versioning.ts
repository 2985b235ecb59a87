import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { BucketParameters } from './bucket-schema.ts'
import { Versioning } from './versioning-schema.ts'

export default defineAdminOperation({
  id: 'setBucketVersioning',
  method: 'PUT',
  path: '/buckets/{bucket}/versioning',
  tag: 'buckets',
  summary: 'Enables or suspends versioning. There is no way back to `off`, nor to `suspended` under object lock.',
  authorize: ['s3:PutBucketVersioning'],
  params: BucketParameters,
  body: Versioning,
  response: Versioning,
  errors: ['bucket_not_found', 'conflict'],
  uses: ['objects'],
  async handle({ params: { bucket }, body: { status } }, { objects }) {
    const current = await objects.getBucket(bucket)
    if (current.versioning === status) return { status }
    if (status === 'off') throw adminErrors.conflict('Versioning was enabled: it can be suspended, not switched off.')
    return { status: (await objects.changeBucket(bucket, { versioning: status })).versioning }
  },
})
