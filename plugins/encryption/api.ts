/**
 * Encryption of objects at rest: with keys of the key management (SSE-S3, SSE-KMS) or of the customer (SSE-C). Source: AWS S3 User
 * Guide, "Protecting data with server-side encryption".
 */
import type { MaybePromise } from 'svc/kernel'

export { encryptionErrors } from './errors.ts'

/** What a bucket does with objects that come without a wish of their own, and what it does not take. */
export interface BucketEncryption {
  /** Undefined: they are stored as they come. */
  readonly algorithm?: 'AES256' | 'aws:kms'
  /** With `aws:kms`. Default: the default key. */
  readonly kmsKeyId?: string
  readonly bucketKeyEnabled?: boolean
  /** Writes with keys of customers are refused. */
  readonly blocksCustomerKeys?: boolean
}

export interface ResealResult {
  readonly buckets: number
  /** Versions with SSE-S3 and SSE-KMS that were looked at. */
  readonly versions: number
  readonly uploads: number
  /** Of both, those that were sealed anew. */
  readonly resealed: number
  readonly failed: number
  /** What the first one failed with; empty where none did. */
  readonly firstError: string
}

/** Of buckets that exist; who asks makes sure of that. */
export interface EncryptionService {
  configuration(bucket: string): MaybePromise<BucketEncryption | undefined>
  /** `undefined` removes it. Throws NotImplemented without key management, `kms_key_not_found` for a key that is not there. */
  replace(bucket: string, encryption: BucketEncryption | undefined): Promise<void>
  /** Puts the data key of one version under another key. Bytes, ETag and times stay. Throws what UpdateObjectEncryption answers. */
  changeKey(
    bucket: string,
    key: string,
    versionId: string | undefined,
    to: { readonly kmsKeyId: string; readonly bucketKeyEnabled: boolean },
  ): Promise<void>
  /**
   * Seals under the present keys whatever is not, in one bucket or in all; data is not written again. What is done stays done, so after
   * an interruption it goes on where it was. Throws `conflict` while one runs.
   */
  reseal(bucket: string | undefined): Promise<ResealResult>
}

declare module 'svc/kernel' {
  interface Services {
    encryption: EncryptionService
  }
}
