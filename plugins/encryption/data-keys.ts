/**
 * Data keys: made, sealed and opened, by the key management or under a key that the customer brings.
 *
 * Each is sealed for a context: canonical JSON of what `contextOf` returns, with the identity in hexadecimal digits. Under a key of a
 * customer it is sealed (kms, sealing.ts) with HMAC-SHA-256 under that key of `svc sse-c key` and the identity; the verifier is the same
 * of `svc sse-c verifier` and the identity.
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

/** A data key with all that is kept of it, but for how it encrypts. */
export interface NewDataKey {
  readonly type: ObjectEncryption['type']
  readonly key: KeyObject
  readonly kmsKeyId: string | undefined
  readonly bucketKeyEnabled: boolean
  readonly sealed: Omit<SealedVersion, 'salts' | 'isDirect'>
}

export interface DataKeys {
  /** Whether there is key management. Keys of customers need none. */
  canSeal(): boolean
  create(place: ObjectPlace, wish: EncryptionRequest): MaybePromise<NewDataKey>
  /** Of a key that something stored names: see `KmsService`. */
  presentKeyId(keyId: string | undefined): MaybePromise<string | undefined>
  /** Throws InvalidRequest without the key of the customer that is needed, AccessDenied with another. */
  open(
    place: ObjectPlace,
    type: ObjectEncryption['type'],
    sealed: SealedVersion,
    customerKey: KeyObject | undefined,
  ): MaybePromise<KeyObject>
  /** The data key under another key, or for another place. Not for keys of customers. */
  sealAgain(from: ObjectPlace, to: ObjectPlace, sealed: SealedVersion, keyId: string | undefined): MaybePromise<Buffer>
}

/** What a sealed data key is bound to. */
export function contextOf(
  { bucket, key }: ObjectPlace,
  identity: Buffer,
  context: Readonly<Record<string, string>> | undefined,
): KmsContext {
  return { ...context, 'aws:s3:arn': `arn:aws:s3:::${bucket}/${key}`, 'svc:version': identity.toString('hex') }
}

/** Throws AccessDenied for another key than the one that was used. Compares in constant time. */
export function requireCustomerKey({ identity, verifier }: SealedVersion, customerKey: KeyObject): void {
  const computed = verifierOf(customerKey, identity)
  if (verifier === undefined || verifier.length !== computed.length || !timingSafeEqual(verifier, computed)) {
    throw encryptionErrors.AccessDenied()
  }
}

export function createDataKeys(kms: KmsService, random: Random): DataKeys {
  const create = (
    place: ObjectPlace,
    wish: Exclude<EncryptionRequest, { type: 'SSE-C' }>,
  ): MaybePromise<NewDataKey> => {
    const identity = random.bytes(identityBytes)
    const [keyId, context] = wish.type === 'SSE-KMS' ? [wish.kmsKeyId, wish.context] : []
    const made = kms.generate(keyId, contextOf(place, identity, context))
    const describe = ({ plaintext, sealed, keyId: usedId }: Awaited<typeof made>): NewDataKey => ({
      type: wish.type,
      key: toKey(plaintext),
      kmsKeyId: wish.type === 'SSE-KMS' ? usedId : undefined,
      bucketKeyEnabled: wish.type === 'SSE-KMS' && wish.bucketKeyEnabled === true,
      sealed: { identity, context, verifier: undefined, dataKey: sealed },
    })
    return made instanceof Promise ? made.then(describe) : describe(made)
  }

  const createUnder = (place: ObjectPlace, customerKey: KeyObject): NewDataKey => {
    const identity = random.bytes(identityBytes)
    const plaintext = random.bytes(dataKeyBytes)
    const context = canonicalJson(contextOf(place, identity, undefined))
    const dataKey = seal(sealingKeyOf(customerKey, identity), plaintext, context, random.bytes(12))
    const sealed = { identity, context: undefined, verifier: verifierOf(customerKey, identity), dataKey }
    return { type: 'SSE-C', key: toKey(plaintext), kmsKeyId: undefined, bucketKeyEnabled: false, sealed }
  }

  const openUnder = (place: ObjectPlace, sealed: SealedVersion, customerKey: KeyObject): KeyObject => {
    const { identity, dataKey } = sealed
    const context = canonicalJson(contextOf(place, identity, undefined))
    try {
      return toKey(openSealed(sealingKeyOf(customerKey, identity), dataKey, context))
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      requireCustomerKey(sealed, customerKey)
      // The key is the right one: what was sealed with it is not what it was, or not where it was.
      throw notAsStored()
    }
  }

  return {
    canSeal: () => kms.isConfigured,

    presentKeyId: keyId => (keyId === undefined || !kms.isConfigured ? keyId : kms.presentKeyId(keyId)),

    create(place, wish) {
      if (wish.type === 'SSE-C') return createUnder(place, wish.customerKey)
      if (!kms.isConfigured) throw encryptionErrors.NotImplemented()
      try {
        const made = create(place, wish)
        return made instanceof Promise ? made.catch(rethrow) : made
      } catch (error) {
        return rethrow(error)
      }
    },

    open(place, type, sealed, customerKey) {
      if (type === 'SSE-C') {
        if (customerKey === undefined) throw customerKeyMissing()
        return openUnder(place, sealed, customerKey)
      }
      if (customerKey !== undefined) throw customerKeyNotApplicable()
      const opened = kms.open(sealed.dataKey, contextOf(place, sealed.identity, sealed.context))
      return opened instanceof Promise ? opened.then(toKey) : toKey(opened)
    },

    async sealAgain(from, to, { identity, context, dataKey }, keyId) {
      const plaintext = await kms.open(dataKey, contextOf(from, identity, context))
      try {
        return await kms.seal(keyId, plaintext, contextOf(to, identity, context))
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

/** The bytes are overwritten: OpenSSL has a copy, which it clears. */
function toKey(plaintext: Buffer): KeyObject {
  const key = createSecretKey(plaintext)
  plaintext.fill(0)
  return key
}

function sealingKeyOf(customerKey: KeyObject, identity: Buffer): KeyObject {
  return toKey(createHmac('sha256', customerKey).update('svc sse-c key').update(identity).digest())
}

function verifierOf(customerKey: KeyObject, identity: Buffer): Buffer {
  return createHmac('sha256', customerKey).update('svc sse-c verifier').update(identity).digest()
}
