import { adminErrors, authorizeChange, BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'

export default defineAdminOperation({
  id: 'deleteBucketEncryption',
  method: 'DELETE',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary:
    'Removes the default encryption of a bucket. Existing objects stay as they are. With `If-None-Match: *` it only makes sure that there is none.',
  authorize: ['s3:PutEncryptionConfiguration'],
  authorizeRequest: authorizeChange('s3:PutEncryptionConfiguration', 's3:GetEncryptionConfiguration'),
  params: BucketParameters,
  etag: true,
  acceptsIfNoneMatch: true,
  errors: ['bucket_not_found', 'precondition_failed'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket }, ifMatch, ifNoneMatch }, { encryption, objects }) {
    await objects.getBucket(bucket)
    if (ifNoneMatch !== undefined) {
      if ((await encryption.stored(bucket))?.value.algorithm !== undefined) throw adminErrors.precondition_failed()
      return
    }
    await encryption.replace(bucket, undefined, { ifMatch })
  },
})
