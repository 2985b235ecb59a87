/**
 * Encryption of objects at rest: with keys of the key management (SSE-S3, SSE-KMS) or of the customer (SSE-C). Source: AWS S3 User
 * Guide, "Protecting data with server-side encryption".
 */

import type { MaybePromise } from 'svc/kernel'
import type { Preconditions } from 'svc/plugins/store/api'
import { encryptionErrors } from './errors.ts'

export { encryptionErrors } from './errors.ts'

/** The default encryption of a bucket, for writes that request none, and the encryption types that the bucket refuses. */
export interface BucketEncryption {
  /** Undefined if writes that request no encryption are stored in plain text. */
  readonly algorithm?: 'AES256' | 'aws:kms'
  /** Only with `aws:kms`. If undefined, the default key. */
  readonly kmsKeyId?: string
  readonly bucketKeyEnabled?: boolean
  /** Writes with keys of customers are refused. */
  readonly blocksCustomerKeys?: boolean
}

export interface ResealResult {
  readonly buckets: number
  /** Versions with SSE-S3 or SSE-KMS that were checked. */
  readonly versions: number
  readonly uploads: number
  /** Versions and uploads whose data key was rewrapped. */
  readonly resealed: number
  readonly failed: number
  /** The message of the first failure; empty if none failed. */
  readonly firstError: string
  /** Former master keys that this process has. Undefined: a key server wraps. */
  readonly formerKeys?: number | undefined
}

/** No method checks that the bucket exists; the caller does. */
export interface EncryptionService {
  configuration(bucket: string): MaybePromise<BucketEncryption | undefined>
  /** As `configuration`, with its ETag. */
  stored(bucket: string): Promise<{ readonly value: BucketEncryption; readonly etag: string } | undefined>
  /**
   * `undefined` removes it. Resolves with the ETag. Throws NotImplemented without key management, `kms_key_not_found` for an unknown key, and
   * `storeErrors`.
   */
  replace(
    bucket: string,
    encryption: BucketEncryption | undefined,
    preconditions?: Preconditions,
  ): Promise<string | undefined>
  /** Rewraps the data key of one version under another KMS key. Bytes, ETag and times stay. Throws the errors of UpdateObjectEncryption. */
  changeKey(
    bucket: string,
    key: string,
    versionId: string | undefined,
    to: { readonly kmsKeyId: string; readonly bucketKeyEnabled: boolean },
  ): Promise<void>
  /**
   * Rewraps every data key that is not wrapped under its current key, in one bucket or in all; the data itself is not rewritten. Each
   * data key is rewrapped in a commit of its own, so a run after an interruption skips those that are done. Throws `conflict` while one runs.
   */
  reseal(bucket: string | undefined): Promise<ResealResult>
}

/** Stands in for the service if the plugin is not loaded: nothing is encrypted. */
export const noEncryption: EncryptionService = {
  configuration: () => undefined,
  stored: async () => undefined,
  replace: () => refuse(),
  changeKey: () => refuse(),
  reseal: () => refuse(),
}

async function refuse(): Promise<never> {
  throw encryptionErrors.NotImplemented('The plugin encryption is not loaded.')
}

declare module 'svc/kernel' {
  interface Services {
    encryption: EncryptionService
  }
}
