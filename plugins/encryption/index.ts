import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noKms } from 'svc/plugins/kms/api'
import 'svc/plugins/policy/api'
import 'svc/plugins/s3/api'
import 'svc/plugins/stored-needs/api'
import deleteEncryptionAsAdmin from './admin/delete-bucket-encryption.ts'
import getEncryptionAsAdmin from './admin/get-bucket-encryption.ts'
import resealKms from './admin/reseal-kms.ts'
import setBucketEncryption from './admin/set-bucket-encryption.ts'
import type { EncryptionService } from './api.ts'
import { createBucketEncryptions } from './bucket-encryption.ts'
import { EncryptionConfig } from './config.ts'
import { createDataKeys } from './data-keys.ts'
import { encryptionHeaders } from './headers.ts'
import { createReseal } from './reseal.ts'
import deleteBucketEncryption from './s3/delete-bucket-encryption.ts'
import getBucketEncryption from './s3/get-bucket-encryption.ts'
import putBucketEncryption from './s3/put-bucket-encryption.ts'
import updateObjectEncryption from './s3/update-object-encryption.ts'
import { createTransform } from './transform.ts'

const operations = [deleteBucketEncryption, getBucketEncryption, putBucketEncryption, updateObjectEncryption]
const adminOperations = [deleteEncryptionAsAdmin, getEncryptionAsAdmin, resealKms, setBucketEncryption]

export default definePlugin({
  name: 'encryption',
  description: 'Encrypts objects at rest: SSE-S3, SSE-KMS and SSE-C.',
  requires: ['locks', 'objects', 'store'],
  optional: ['kms'],
  provides: ['encryption'],
  contributes: { 's3.operation': operations, 'admin.operation': adminOperations },
  config: EncryptionConfig,
  setup({ config, services, ports, contribute }) {
    // Without key management SSE-C works, and requests for SSE-S3 and SSE-KMS are refused.
    const { kms = noKms, locks, objects, store } = services
    const { configuration, stored, replace, effectiveRequest, section, keyUser } = createBucketEncryptions(store, kms)
    contribute('archive.section', section.documents.name, section, { optional: true })
    contribute('kms.user', section.documents.name, keyUser, { optional: true })
    const dataKeys = createDataKeys(kms, ports.random)
    const { run, changeKey } = createReseal({ objects, kms, dataKeys, locks })
    const encryption: EncryptionService = {
      configuration,
      stored,
      replace,
      changeKey,
      reseal: run,
    }
    contribute('object.transform', 'encryption', createTransform(dataKeys, ports.random, effectiveRequest))
    contribute('s3.attribute', 'encryption', encryptionHeaders(config.allowsInsecureCustomerKeys, kms))
    contribute(
      'stored.need',
      'bucket-encryption',
      {
        sign: { kind: 'bucket-document', name: 'bucket-encryption' },
        has: 'a default encryption',
        consequence: 'new objects of these buckets are stored in plain text',
      },
      { optional: true },
    )
    contribute(
      'stored.need',
      'object-encryption',
      {
        sign: { kind: 'record', name: 'object-encryption' },
        has: 'encrypted objects',
        consequence: 'encrypted objects cannot be read',
      },
      { optional: true },
    )
    contribute('policy.action', 's3:UpdateObjectEncryption', {
      level: 'object',
      description: 'put the data key of an object under another key',
    })
    return { services: { encryption }, internal: { kms } }
  },
})
