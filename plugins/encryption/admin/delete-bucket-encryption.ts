import { authorizeChange, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'

export default defineAdminOperation({
  id: 'deleteBucketEncryption',
  method: 'DELETE',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary: 'Removes the default encryption of a bucket. Existing objects stay as they are.',
  authorize: ['s3:PutEncryptionConfiguration'],
  authorizeRequest: authorizeChange('s3:PutEncryptionConfiguration', 's3:GetEncryptionConfiguration'),
  params: BucketParameters,
  etag: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket }, ifMatch }, { encryption, objects }) {
    await objects.getBucket(bucket)
    await encryption.replace(bucket, undefined, { ifMatch })
  },
})
