import { BucketParameters, defineAdminOperation } from 'svc/plugins/admin/api'

export default defineAdminOperation({
  id: 'deleteBucketEncryption',
  method: 'DELETE',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary: 'Removes the default encryption of a bucket. Existing objects stay as they are.',
  authorize: ['s3:PutEncryptionConfiguration'],
  params: BucketParameters,
  errors: ['bucket_not_found'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket } }, { encryption, objects }) {
    await objects.getBucket(bucket)
    await encryption.replace(bucket, undefined)
  },
})
