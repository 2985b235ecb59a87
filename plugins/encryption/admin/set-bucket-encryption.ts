import { BucketParameters, checkField, defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import { readKeyId } from '../encryption-request.ts'
import { describeEncryption, Encryption } from './encryption-schema.ts'

export default defineAdminOperation({
  id: 'setBucketEncryption',
  method: 'PUT',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary: 'Replaces the default encryption of a bucket. Existing objects stay as they are.',
  authorize: ['s3:PutEncryptionConfiguration'],
  params: BucketParameters,
  body: Encryption,
  response: Encryption,
  errors: ['bucket_not_found', 'kms_key_not_found', 'kms_unavailable', 'not_implemented'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket }, body: { algorithm, kmsKeyId } }, { encryption, objects }) {
    if (algorithm === 'AES256' && kmsKeyId !== undefined) {
      throw invalidFields([{ element: '/kmsKeyId', message: 'goes with the algorithm aws:kms only' }])
    }
    await objects.getBucket(bucket)
    const present = await encryption.configuration(bucket)
    const changed = {
      algorithm,
      kmsKeyId: kmsKeyId === undefined ? undefined : checkField('/kmsKeyId', () => readKeyId(kmsKeyId)),
      bucketKeyEnabled: present?.bucketKeyEnabled,
      blocksCustomerKeys: present?.blocksCustomerKeys,
    }
    await checkField('/kmsKeyId', () => encryption.replace(bucket, changed), [
      'KMS.NotFoundException',
      'kms_key_not_found',
    ])
    return describeEncryption(changed)
  },
})
