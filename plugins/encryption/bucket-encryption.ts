/** Default encryption of buckets: the stored documents, and the encryption that a write gets by them. */

import { isCatalogError, type MaybePromise } from 'svc/kernel'
import type { ArchiveSection } from 'svc/plugins/cluster-archive/api'
import type { KeyUser, KmsService } from 'svc/plugins/kms/api'
import type { EncryptionRequest } from 'svc/plugins/objects/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { bucketDocument, type StoreService } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { BucketEncryption, EncryptionService } from './api.ts'
import { encryptionErrors } from './errors.ts'
import type { EffectiveRequest } from './transform.ts'

const BucketEncryptionDocument = Type.Object(
  {
    algorithm: Type.Optional(Type.Union([Type.Literal('AES256'), Type.Literal('aws:kms')])),
    kmsKeyId: Type.Optional(Type.String()),
    bucketKeyEnabled: Type.Optional(Type.Boolean()),
    blocksCustomerKeys: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export interface BucketEncryptions extends Pick<EncryptionService, 'configuration' | 'stored' | 'replace'> {
  readonly effectiveRequest: EffectiveRequest
  readonly section: ArchiveSection
  readonly keyUser: KeyUser
}

export function createBucketEncryptions(store: StoreService, kms: KmsService): BucketEncryptions {
  const documents = bucketDocument(store, { name: 'bucket-encryption', schema: BucketEncryptionDocument })

  /** An unreadable document may require encryption, so the write is refused instead of stored in plain text. */
  const configuration = (bucket: string): MaybePromise<BucketEncryption | undefined> =>
    documents.read(bucket, problem => {
      throw storageErrors.unavailable(`The default encryption of the bucket ${bucket} cannot be read: ${problem}.`)
    })

  /** Replaces the name of a former master key by the key that has taken its place. */
  const present = (
    wanted: MaybePromise<EncryptionRequest | undefined>,
  ): MaybePromise<EncryptionRequest | undefined> => {
    if (wanted instanceof Promise) return wanted.then(present)
    if (wanted?.type !== 'SSE-KMS' || wanted.kmsKeyId === undefined || !kms.isConfigured) return wanted
    const kmsKeyId = kms.presentKeyId(wanted.kmsKeyId)
    return kmsKeyId instanceof Promise
      ? kmsKeyId.then(late => ({ ...wanted, kmsKeyId: late }))
      : { ...wanted, kmsKeyId }
  }

  /** Nobody could write into a bucket whose keys are not there. */
  async function problem(
    _bucket: string,
    { algorithm, kmsKeyId }: Static<typeof BucketEncryptionDocument>,
  ): Promise<string | undefined> {
    if (algorithm === undefined) return undefined
    if (!kms.isConfigured) {
      return `it needs encryption keys (${algorithm}), and this server has none: start it with SVC_KMS_SECRET_KEY or with a key server`
    }
    try {
      if (kmsKeyId !== undefined) await kms.requireKey(kmsKeyId)
    } catch (error) {
      // A key server that is away may have the key.
      if (isCatalogError(error) && error.status < 500) return `it needs a key that is not there: ${error.message}`
    }
    return undefined
  }

  return {
    section: { documents, problem },
    keyUser: {
      name: 'the default encryption of the bucket',
      async *keyIds() {
        for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
          const page: Awaited<ReturnType<typeof documents.list>> = await documents.list({ startAfter })
          for (const { id, value } of page.documents) {
            if (value.kmsKeyId !== undefined) yield { keyId: value.kmsKeyId, of: `"${id}"` }
          }
          startAfter = page.next
        }
      },
    },
    configuration,

    effectiveRequest(bucket, requested) {
      const found = configuration(bucket)
      const decided = found instanceof Promise ? found.then(late => decide(late, requested)) : decide(found, requested)
      return requested === undefined ? present(decided) : decided
    },

    async stored(bucket) {
      const found = await documents.get(bucket)
      // Throws if there is one that cannot be read.
      if (found === undefined) await configuration(bucket)
      return found
    },

    async replace(bucket, encryption, preconditions) {
      if (encryption === undefined) return documents.replace(bucket, undefined, preconditions)
      if (encryption.algorithm !== undefined && !kms.isConfigured) throw encryptionErrors.NotImplemented()
      if (encryption.kmsKeyId !== undefined) await kms.requireKey(encryption.kmsKeyId)
      const defined = Object.entries(encryption).filter(([, value]) => value !== undefined)
      return documents.replace(bucket, Object.fromEntries(defined), preconditions)
    },
  }
}

function decide(
  encryption: BucketEncryption | undefined,
  requested: EncryptionRequest | undefined,
): EncryptionRequest | undefined {
  if (requested !== undefined) {
    if (requested.type === 'SSE-C' && encryption?.blocksCustomerKeys === true) {
      throw encryptionErrors.AccessDenied(
        'Server-side encryption with customer-provided keys is blocked for this bucket.',
      )
    }
    return requested
  }
  if (encryption?.algorithm === 'AES256') return { type: 'SSE-S3' }
  if (encryption?.algorithm !== 'aws:kms') return undefined
  const { kmsKeyId, bucketKeyEnabled } = encryption
  return { type: 'SSE-KMS', kmsKeyId, bucketKeyEnabled }
}

/** In the names of S3. */
export function toS3KeyError(error: unknown): unknown {
  if (!isCatalogError(error) || error.code !== 'kms_key_not_found') return error
  return encryptionErrors['KMS.NotFoundException'](error.message, { cause: error })
}
