import { defineS3Operation } from 'svc/plugins/s3/api'
import { encryptionErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'GetBucketEncryption',
  summary: 'Returns the default encryption of a bucket.',
  match: { method: 'GET', level: 'bucket', query: ['encryption'] },
  action: 's3:GetEncryptionConfiguration',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'ServerSideEncryptionConfiguration' },
  errors: ['NoSuchBucket', 'ServerSideEncryptionConfigurationNotFoundError'],
  uses: ['encryption', 'objects'],
  async handle({ bucket }, { encryption, objects }) {
    await objects.getBucket(bucket)
    const configuration = await encryption.configuration(bucket)
    if (configuration === undefined) {
      throw encryptionErrors.ServerSideEncryptionConfigurationNotFoundError(undefined, {
        extra: { BucketName: bucket },
      })
    }
    const { algorithm, kmsKeyId, bucketKeyEnabled, blocksCustomerKeys } = configuration
    const byDefault = { SSEAlgorithm: algorithm, KMSMasterKeyID: kmsKeyId }
    return {
      xml: {
        Rule: {
          ApplyServerSideEncryptionByDefault: algorithm === undefined ? undefined : byDefault,
          BucketKeyEnabled: bucketKeyEnabled === true,
          BlockedEncryptionTypes: blocksCustomerKeys === true ? { EncryptionType: 'SSE-C' } : undefined,
        },
      },
    }
  },
})
