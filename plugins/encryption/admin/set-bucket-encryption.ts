import {
  adminErrors,
  authorizeChange,
  BucketParameters,
  checkField,
  defineAdminOperation,
  invalidFields,
  replyWith,
} from 'svc/plugins/admin/api'
import { readKeyId } from '../encryption-request.ts'
import { describeEncryption, Encryption } from './encryption-schema.ts'

export default defineAdminOperation({
  id: 'setBucketEncryption',
  method: 'PUT',
  path: '/buckets/{bucket}/encryption',
  tag: 'buckets',
  summary: 'Replaces the default encryption of a bucket. Existing objects stay as they are.',
  authorize: ['s3:PutEncryptionConfiguration'],
  authorizeRequest: authorizeChange('s3:PutEncryptionConfiguration', 's3:GetEncryptionConfiguration'),
  params: BucketParameters,
  body: Encryption,
  response: Encryption,
  etag: true,
  acceptsIfNoneMatch: true,
  errors: ['bucket_not_found', 'kms_key_not_found', 'kms_unavailable', 'not_implemented', 'precondition_failed'],
  uses: ['encryption', 'objects'],
  async handle({ params: { bucket }, body: { algorithm, kmsKeyId }, ifMatch, ifNoneMatch }, { encryption, objects }) {
    if (algorithm === 'AES256' && kmsKeyId !== undefined) {
      throw invalidFields([{ element: '/kmsKeyId', message: 'goes with the algorithm aws:kms only' }])
    }
    await objects.getBucket(bucket)
    const present = await encryption.stored(bucket)
    if (ifNoneMatch !== undefined && present?.value.algorithm !== undefined) throw adminErrors.precondition_failed()
    const changed = {
      algorithm,
      kmsKeyId: kmsKeyId === undefined ? undefined : checkField('/kmsKeyId', () => readKeyId(kmsKeyId)),
      bucketKeyEnabled: present?.value.bucketKeyEnabled,
      blocksCustomerKeys: present?.value.blocksCustomerKeys,
    }
    // What is stored may say other things than how to encrypt.
    const asFound = present === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: present.etag }
    const conditions = ifNoneMatch === undefined ? { ifMatch } : asFound
    const replace = () => encryption.replace(bucket, changed, conditions)
    const etag = await checkField('/kmsKeyId', replace, ['KMS.NotFoundException', 'kms_key_not_found'])
    return replyWith(describeEncryption(changed), { etag: etag! })
  },
})
