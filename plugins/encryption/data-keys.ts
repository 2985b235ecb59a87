/**
 * Creates, unwraps and rewraps data keys. With SSE-S3 and SSE-KMS the key management wraps the data key; with SSE-C this module wraps it
 * under a key derived from the customer's key. Each version and each multipart upload has its own data key.
 *
 * A wrapped data key is bound to the context of the object: bucket, object name, identity of the version and the customer's encryption
 * context (`contextOf`). It cannot be unwrapped with another context; `rewrap` wraps it again for another object name or under another key.
 *
 * SSE-C: the wrapping key is HMAC-SHA-256(customer's key, `svc sse-c key` and the identity). It seals the data key (sealing/sealing.ts)
 * with the canonical JSON of the context as associated data. The customer's key is not stored. The verifier, HMAC-SHA-256(customer's key,
 * `svc sse-c verifier` and the identity), is stored, and tells a wrong key from corrupt data.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import { isCatalogError, type Random } from 'svc/kernel'
import { dataKeyBytes, type KmsContext, type KmsService } from 'svc/plugins/kms/api'
import type { EncryptionRequest, ObjectEncryption, ObjectPlace } from 'svc/plugins/objects/api'
import { canonicalJson, openSealed, SealError, seal } from 'svc/plugins/sealing/api'
import { identityBytes, notAsStored } from './chunks.ts'
import { customerKeyMissing, customerKeyNotApplicable, encryptionErrors } from './errors.ts'
import type { SealedVersion } from './sealed.ts'

/** A new data key, and the fields that are stored with the version. The caller adds salts and format. */
export interface NewDataKey {
  readonly type: ObjectEncryption['type']
  readonly key: KeyObject
  readonly kmsKeyId: string | undefined
  readonly bucketKeyEnabled: boolean
  readonly sealed: Omit<SealedVersion, 'salts' | 'isDirect'>
}

export interface DataKeys {
  /** Whether key management is configured. SSE-C works without it. */
  canWrap(): boolean
  create(place: ObjectPlace, requested: EncryptionRequest): MaybePromise<NewDataKey>
  /** The key id to use in place of a key id that was read from stored data: see `KmsService.presentKeyId`. */
  presentKeyId(keyId: string | undefined): MaybePromise<string | undefined>
  /** Throws InvalidRequest if the customer's key is missing or not applicable, and AccessDenied if it is wrong. */
  unwrap(
    place: ObjectPlace,
    type: ObjectEncryption['type'],
    sealed: SealedVersion,
    customerKey: KeyObject | undefined,
  ): MaybePromise<KeyObject>
  /** Wraps the data key again, under another key or for another object name. Not for SSE-C. */
  rewrap(from: ObjectPlace, to: ObjectPlace, sealed: SealedVersion, keyId: string | undefined): MaybePromise<Buffer>
}

/** The context that a wrapped data key is bound to. */
export function contextOf(
  { bucket, key }: ObjectPlace,
  identity: Buffer,
  context: Readonly<Record<string, string>> | undefined,
): KmsContext {
  return { ...context, 'aws:s3:arn': `arn:aws:s3:::${bucket}/${key}`, 'svc:version': identity.toString('hex') }
}

/** Throws AccessDenied unless `customerKey` is the key that the object was encrypted with. The comparison takes constant time. */
export function requireCustomerKey({ identity, verifier }: SealedVersion, customerKey: KeyObject): void {
  const computed = verifierOf(customerKey, identity)
  if (verifier === undefined || verifier.length !== computed.length || !timingSafeEqual(verifier, computed)) {
    throw encryptionErrors.AccessDenied()
  }
}

export function createDataKeys(kms: KmsService, random: Random): DataKeys {
  const create = (
    place: ObjectPlace,
    requested: Exclude<EncryptionRequest, { type: 'SSE-C' }>,
  ): MaybePromise<NewDataKey> => {
    const identity = random.bytes(identityBytes)
    const [keyId, context] = requested.type === 'SSE-KMS' ? [requested.kmsKeyId, requested.context] : []
    const made = kms.generate(keyId, contextOf(place, identity, context))
    const describe = ({ plaintext, wrapped, keyId: usedId }: Awaited<typeof made>): NewDataKey => ({
      type: requested.type,
      key: toKey(plaintext),
      kmsKeyId: requested.type === 'SSE-KMS' ? usedId : undefined,
      bucketKeyEnabled: requested.type === 'SSE-KMS' && requested.bucketKeyEnabled === true,
      sealed: { identity, context, verifier: undefined, dataKey: wrapped },
    })
    return made instanceof Promise ? made.then(describe) : describe(made)
  }

  const createUnder = (place: ObjectPlace, customerKey: KeyObject): NewDataKey => {
    const identity = random.bytes(identityBytes)
    const plaintext = random.bytes(dataKeyBytes)
    const context = canonicalJson(contextOf(place, identity, undefined))
    const dataKey = seal(wrappingKeyOf(customerKey, identity), plaintext, context, random.bytes(12))
    const sealed = { identity, context: undefined, verifier: verifierOf(customerKey, identity), dataKey }
    return { type: 'SSE-C', key: toKey(plaintext), kmsKeyId: undefined, bucketKeyEnabled: false, sealed }
  }

  const unwrapUnder = (place: ObjectPlace, sealed: SealedVersion, customerKey: KeyObject): KeyObject => {
    const { identity, dataKey } = sealed
    const context = canonicalJson(contextOf(place, identity, undefined))
    try {
      return toKey(openSealed(wrappingKeyOf(customerKey, identity), dataKey, context))
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      requireCustomerKey(sealed, customerKey)
      // The verifier matches, so the key is right: the wrapped data key was altered, or belongs to another object.
      throw notAsStored()
    }
  }

  return {
    canWrap: () => kms.isConfigured,

    presentKeyId: keyId => (keyId === undefined || !kms.isConfigured ? keyId : kms.presentKeyId(keyId)),

    create(place, requested) {
      if (requested.type === 'SSE-C') return createUnder(place, requested.customerKey)
      if (!kms.isConfigured) throw encryptionErrors.NotImplemented()
      try {
        const made = create(place, requested)
        return made instanceof Promise ? made.catch(rethrow) : made
      } catch (error) {
        return rethrow(error)
      }
    },

    unwrap(place, type, sealed, customerKey) {
      if (type === 'SSE-C') {
        if (customerKey === undefined) throw customerKeyMissing()
        return unwrapUnder(place, sealed, customerKey)
      }
      if (customerKey !== undefined) throw customerKeyNotApplicable()
      const opened = kms.unwrap(sealed.dataKey, contextOf(place, sealed.identity, sealed.context))
      return opened instanceof Promise ? opened.then(toKey) : toKey(opened)
    },

    async rewrap(from, to, { identity, context, dataKey }, keyId) {
      const plaintext = await kms.unwrap(dataKey, contextOf(from, identity, context))
      try {
        return await kms.wrap(keyId, plaintext, contextOf(to, identity, context))
      } finally {
        plaintext.fill(0)
      }
    },
  }
}

function rethrow(error: unknown): never {
  if (isCatalogError(error) && error.code === 'kms_key_not_found') {
    throw encryptionErrors['KMS.NotFoundException'](error.message, { cause: error })
  }
  throw error
}

/** Makes a key object of the bytes and overwrites them. OpenSSL keeps a copy, and clears it when the key object is freed. */
function toKey(plaintext: Buffer): KeyObject {
  const key = createSecretKey(plaintext)
  plaintext.fill(0)
  return key
}

function wrappingKeyOf(customerKey: KeyObject, identity: Buffer): KeyObject {
  return toKey(createHmac('sha256', customerKey).update('svc sse-c key').update(identity).digest())
}

function verifierOf(customerKey: KeyObject, identity: Buffer): Buffer {
  return createHmac('sha256', customerKey).update('svc sse-c verifier').update(identity).digest()
}
