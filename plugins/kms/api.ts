/**
 * Key management: data keys, sealed under keys that never leave their backend. Whoever keeps something encrypted asks for a
 * data key, keeps it sealed beside the ciphertext, and has it opened again. Which keys seal is the business of a backend, an
 * extension point: the built-in one has the master key of the configuration, others are key servers.
 *
 * Everything sealed is bound to a *context*: what it belongs to, as names and values. In another context it does not open.
 */
import type { MaybePromise } from 'svc/kernel'

export { kmsErrors, notConfiguredTitle } from './errors.ts'
export { checkKeyId, mayBeKeyId } from './key-id.ts'
export { noKms } from './without.ts'

export const dataKeyBytes = 32

/** What a sealed key belongs to. The order of names does not matter. */
export type KmsContext = Readonly<Record<string, string>>

export interface DataKey {
  /** 32 bytes; the caller overwrites them with zeros after use. */
  readonly plaintext: Buffer
  /** To be kept: names its backend and key. At most 4 KiB. */
  readonly sealed: Buffer
  readonly keyId: string
}

export interface KmsKey {
  readonly id: string
  /** Milliseconds since 1970; undefined where nobody knows. */
  readonly createdMs: number | undefined
  readonly isDefault: boolean
}

export interface KmsEndpoint {
  readonly url: string
  readonly online: boolean
}

export interface KmsStatus {
  readonly isConfigured: boolean
  /** `builtin`, or what the backend is contributed as. Empty without any. */
  readonly backend: string
  readonly defaultKeyId: string
  readonly endpoints: readonly KmsEndpoint[]
  readonly online: boolean
  /** Why it is not online, or which keys are missing, and what to do: a sentence without secrets. */
  readonly error: string
  /** Of the key server, where there is one. */
  readonly version: string
}

/**
 * Everything rejects with `kmsErrors`. What a backend can answer from what it has at hand comes without a promise, so that a
 * small object is read in the turn in which it was asked for.
 */
export interface KmsService {
  /** Without it nothing can be sealed: requests that ask for it are refused. */
  readonly isConfigured: boolean
  /** Seals where no key is named. Undefined without KMS. */
  readonly defaultKeyId: string | undefined
  /** A new data key under the named key, or under the default one. Throws `kms_key_not_found`. */
  generate(keyId: string | undefined, context: KmsContext): MaybePromise<DataKey>
  /** The plaintext of what `generate` or `seal` made for this context; the caller overwrites it with zeros after use. */
  open(sealed: Uint8Array, context: KmsContext): MaybePromise<Buffer>
  /** Seals what another context had, or another key. The id is one that something stored names: see `presentKeyId`. */
  seal(keyId: string | undefined, plaintext: Uint8Array, context: KmsContext): MaybePromise<Buffer>
  /** Whether it is sealed by the present backend, under this key in its present form. If not, sealing it anew makes it so. */
  isCurrent(sealed: Uint8Array, keyId: string | undefined): MaybePromise<boolean>
  /** Throws `kms_key_not_found`. */
  requireKey(keyId: string): MaybePromise<void>
  /**
   * The key that takes the place of one which something stored names: the same, but for the name of a master key that a key server does
   * not have. That stands for its default key, as it did when objects and buckets got it. Not for what requests name.
   */
  presentKeyId(keyId: string): MaybePromise<string>
  /** Throws `already_exists`, and `invalid_key_id` for what is no id. */
  createKey(id: string): Promise<KmsKey>
  /** By id; those after `startAfter`. */
  listKeys(request: { readonly startAfter: string; readonly limit: number }): MaybePromise<KmsKeyPage>
  status(): Promise<KmsStatus>
  /** Tells that everything sealed has been sealed under the present keys, so that former ones are not needed. In the main thread. */
  onResealed(): Promise<void>
}

export interface KmsKeyPage {
  readonly keys: readonly KmsKey[]
  /** To be passed as `startAfter`; undefined when the list is complete. */
  readonly next: string | undefined
}

/**
 * The interface behind the extension point `kms.backend`; the suite in `contract.ts` says what each has to keep. `context` is
 * the same bytes for the same context, always. What cannot be reached is `kms_unavailable`, what does not open in this context
 * or was altered `kms_open_failed`.
 */
export interface KmsBackend {
  readonly defaultKeyId: string
  /** Never waits for a remote host. */
  start?(): MaybePromise<void>
  stop?(): MaybePromise<void>
  /** A random data key of 32 bytes. Throws `kms_key_not_found`. */
  generate(keyId: string, context: Buffer): MaybePromise<{ readonly plaintext: Buffer; readonly sealed: Buffer }>
  /** Plaintext of 1 to 256 bytes. */
  seal(keyId: string, plaintext: Uint8Array, context: Buffer): MaybePromise<Buffer>
  open(keyId: string, sealed: Uint8Array, context: Buffer): MaybePromise<Buffer>
  /** Whether `seal` would still use the same form of the key. */
  isCurrent(keyId: string, sealed: Uint8Array): MaybePromise<boolean>
  /** Undefined where there is no such key. */
  getKey(id: string): MaybePromise<Omit<KmsKey, 'isDefault'> | undefined>
  /** Throws `already_exists`. */
  createKey(id: string): Promise<Omit<KmsKey, 'isDefault'>>
  /** By id, without the default key where that is not one among others. */
  listKeys(startAfter: string, limit: number): MaybePromise<readonly Omit<KmsKey, 'isDefault'>[]>
  /** From what is known: must not wait for a remote host. */
  status(): Pick<KmsStatus, 'endpoints' | 'online' | 'error' | 'version'>
}

export interface KmsBackendFactory {
  /** Whether the operator configured it. What is not is never created. */
  readonly isConfigured: boolean
  /**
   * `remote`: keys lie elsewhere; it is preferred to `local` ones, which then only open what they sealed; and what it opened is
   * remembered for a while.
   */
  readonly kind: 'local' | 'remote'
  /** Only what it sealed formerly is opened with it. Default: it seals, too. */
  readonly opensOnly?: boolean
  /** Called once when `kms` starts, in every thread. */
  create(): KmsBackend
}

declare module 'svc/kernel' {
  interface Services {
    kms: KmsService
  }
  interface ExtensionPoints {
    'kms.backend': KmsBackendFactory
  }
}
