import { BucketParameters, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { encryptionAdminErrors } from '../errors.ts'
import { describeEncryption, Encryption } from './encryption-schema.ts'

export default defineAdminOperation({
  id: 'getBucketEncryption',
  method: 'GET',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary: 'Returns the default encryption of a bucket.',
  authorize: ['s3:GetEncryptionConfiguration'],
  params: BucketParameters,
  response: Encryption,
  etag: true,
  errors: ['bucket_not_found', 'encryption_not_found'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket } }, { encryption, objects }) {
    await objects.getBucket(bucket)
    const found = await encryption.stored(bucket)
    if (found?.value.algorithm === undefined) throw encryptionAdminErrors.encryption_not_found()
    return replyWith(describeEncryption(found.value), { etag: found.etag })
  },
})
