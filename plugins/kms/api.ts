/**
 * Key management: creates, wraps and unwraps data keys (envelope encryption). The caller encrypts with the plaintext data key, stores
 * the wrapped one beside the ciphertext, and has it unwrapped for a read. The wrapping keys belong to backends (extension point
 * `kms.backend`) and never leave them: the built-in backend has the master key of the configuration, other backends are key servers.
 *
 * A wrapped key is bound to a *context*, such as bucket and key of its object, as names and values: in another context unwrapping fails.
 */
import type { MaybePromise } from 'svc/kernel'

export { kmsErrors, notConfiguredTitle } from './errors.ts'
export { checkKeyId, mayBeKeyId } from './key-id.ts'
export { noKms } from './without.ts'

export const dataKeyBytes = 32

/** The names and values that a wrapped key is bound to. Their order does not matter. */
export type KmsContext = Readonly<Record<string, string>>

export interface DataKey {
  /** 32 bytes; the caller overwrites them with zeros after use. */
  readonly plaintext: Buffer
  /** The wrapped key, to be stored. It contains the name of its backend and of its key. At most 4 KiB. */
  readonly wrapped: Buffer
  readonly keyId: string
}

export interface KmsKey {
  readonly id: string
  /** Milliseconds since 1970; undefined if unknown. */
  readonly createdMs: number | undefined
  readonly isDefault: boolean
}

export interface KmsEndpoint {
  readonly url: string
  readonly online: boolean
}

export interface KmsStatus {
  readonly isConfigured: boolean
  /** Name of the backend that wraps: `builtin`, or the name of its contribution. Empty if none is configured. */
  readonly backend: string
  readonly defaultKeyId: string
  readonly endpoints: readonly KmsEndpoint[]
  readonly online: boolean
  /** Why the backend is not online, or which keys of stored or new objects are missing, and what the operator has to do. Has no secrets. */
  readonly error: string
  /** Version of the key server, if there is one. */
  readonly version: string
  /** Former master keys that this process has: a changed environment counts only in the next one. Undefined: a key server wraps. */
  readonly formerKeys?: number | undefined
}

/**
 * All methods fail with `kmsErrors`. A local backend answers without a promise, so that a small encrypted object is read in one turn of
 * the event loop.
 */
export interface KmsService {
  /** Whether a backend wraps. If not, requests for SSE-S3 and SSE-KMS are refused. */
  readonly isConfigured: boolean
  /** The key that wraps if the caller names none. Undefined without KMS. */
  readonly defaultKeyId: string | undefined
  /** A new data key under the named key, or under the default one. Throws `kms_key_not_found`. */
  generate(keyId: string | undefined, context: KmsContext): MaybePromise<DataKey>
  /** The plaintext of a key that `generate` or `wrap` wrapped for this context; the caller overwrites it with zeros after use. */
  unwrap(wrapped: Uint8Array, context: KmsContext): MaybePromise<Buffer>
  /** Wraps a data key again, for another context or under another key. The id comes from stored data: see `presentKeyId`. */
  wrap(keyId: string | undefined, plaintext: Uint8Array, context: KmsContext): MaybePromise<Buffer>
  /** Whether `wrapped` was made by the current backend under the current version of this key. If not, rewrap the data key. */
  isCurrent(wrapped: Uint8Array, keyId: string | undefined): MaybePromise<boolean>
  /** Throws `kms_key_not_found`. */
  requireKey(keyId: string): MaybePromise<void>
  /**
   * The key to use for a key id in stored data. It is the same id, except for the name of a built-in master key that the key server does
   * not have: objects and buckets got that name as the default key, so the key server's default key replaces it. Not for ids in requests.
   */
  presentKeyId(keyId: string): MaybePromise<string>
  /** Throws `already_exists` and `invalid_key_id`. */
  createKey(id: string): Promise<KmsKey>
  /** Lists keys in the order of their ids, beginning after `startAfter`. */
  listKeys(request: { readonly startAfter: string; readonly limit: number }): MaybePromise<KmsKeyPage>
  status(): Promise<KmsStatus>
  /** To be called in the main thread after all data keys were rewrapped under the current keys: former keys are no longer needed. */
  onResealed(): Promise<void>
}

export interface KmsKeyPage {
  readonly keys: readonly KmsKey[]
  /** To be passed as `startAfter`; undefined when the list is complete. */
  readonly next: string | undefined
}

/**
 * A backend of the extension point `kms.backend`; `contract.ts` tests its guarantees. Equal contexts are passed as equal bytes. An
 * unreachable key server is `kms_unavailable`; a wrapped key that was altered or belongs to another context is `kms_open_failed`.
 */
export interface KmsBackend {
  readonly defaultKeyId: string
  /** Never waits for a remote host. */
  start?(): MaybePromise<void>
  stop?(): MaybePromise<void>
  /** A random data key of 32 bytes. Throws `kms_key_not_found`. */
  generate(keyId: string, context: Buffer): MaybePromise<{ readonly plaintext: Buffer; readonly wrapped: Buffer }>
  /** Plaintext of 1 to 256 bytes. */
  wrap(keyId: string, plaintext: Uint8Array, context: Buffer): MaybePromise<Buffer>
  unwrap(keyId: string, wrapped: Uint8Array, context: Buffer): MaybePromise<Buffer>
  /** Whether `wrap` would use the same version of the key. */
  isCurrent(keyId: string, wrapped: Uint8Array): MaybePromise<boolean>
  /** Undefined if the key does not exist. */
  getKey(id: string): MaybePromise<Omit<KmsKey, 'isDefault'> | undefined>
  /** Throws `already_exists`. */
  createKey(id: string): Promise<Omit<KmsKey, 'isDefault'>>
  /** Sorted by id. The default key may be missing. */
  listKeys(startAfter: string, limit: number): MaybePromise<readonly Omit<KmsKey, 'isDefault'>[]>
  /** The last known state: must not wait for a remote host. */
  status(): Pick<KmsStatus, 'endpoints' | 'online' | 'error' | 'version'>
}

/** A kind of stored settings that name keys for new objects. The status asks whether these keys are there. */
export interface KeyUser {
  /** What the settings are, such as `the default encryption of the bucket`. */
  readonly name: string
  /** Each key with what names it, such as a bucket. May repeat keys, and leaves out settings that cannot be read. */
  keyIds(): AsyncIterable<{ readonly keyId: string; readonly of: string }>
}

export interface KmsBackendFactory {
  /** Whether the operator configured it; `create` is called only then. */
  readonly isConfigured: boolean
  /**
   * `remote`: a key server. It wraps even if a `local` backend is configured, which then only unwraps; and keys that it unwrapped are
   * cached (data-key-cache.ts).
   */
  readonly kind: 'local' | 'remote'
  /** True if the backend has only former keys, which unwrap and never wrap. Default: false. */
  readonly unwrapsOnly?: boolean
  /** Called once when `kms` starts, in every thread. */
  create(): KmsBackend
}

declare module 'svc/kernel' {
  interface Services {
    kms: KmsService
  }
  interface ExtensionPoints {
    'kms.backend': KmsBackendFactory
    'kms.user': KeyUser
  }
}
