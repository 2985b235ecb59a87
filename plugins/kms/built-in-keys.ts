/**
 * The built-in backend. It derives each key from the configured master key and the id of the key, so it stores no key. The id of the
 * default key is the name of the master key. Operators create other ids, and the store has a document for each. `generate` refuses an id
 * that is neither. `wrap` and `unwrap` do not check ids, because a stored id can be the name of a former master key.
 *
 * A wrapped key contains the version of its master key. Keys that were wrapped under a former master key can be unwrapped as long as that
 * master key is configured:
 *
 *     0  u8        format: 2 for a new data key (`generate`), 1 for an existing one (`wrap`)
 *     1  8 bytes   version: the first 8 bytes of HMAC-SHA-256(master key, `svc kms master key version`)
 *     9  16 bytes  salt, random
 *    25            format 1: the data key, sealed (sealing/sealing.ts) under a key derived from the salt, bound to the context
 *       16 bytes   format 2: a check value, by which `unwrap` detects a wrong key, salt or context. The data key is not stored: it is
 *                  derived from salt and context (derived-key.ts)
 *
 * The master key, key id and context of a data key of format 2 cannot change, because the data key is derived from them. `wrap` seals the
 * data key in format 1 under the new ones, so the bytes of the object need not be encrypted again.
 *
 * Derivation: master key → root (HKDF-SHA-256, no salt, `svc kms keys`) → key of an id: HMAC-SHA-256(root, `key ` and the id). The key of
 * an id gives two kinds of keys: the wrapping keys of format 1, HMAC-SHA-256(key of the id, salt), and the key from which data keys of
 * format 2 are derived, HMAC-SHA-256(key of the id, `data keys`). The text `data keys` has 9 bytes and a salt has 16, so the two kinds
 * cannot coincide.
 *
 * In format 1 a thread uses one salt, and so one wrapping key, for up to 2^20 data keys of one key id, each with a random nonce of 96
 * bits. 2^20 is far below the limit of 2^32 random nonces under one key (NIST SP 800-38D, 8.3). Derived keys are cached as key objects;
 * the keys of format 2 are cached as bytes, because a hash takes no key object.
 */
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Clock, MaybePromise, Random } from 'svc/kernel'
import { deriveKey, openSealed, SealError, seal } from 'svc/plugins/sealing/api'
import type { Collection } from 'svc/plugins/store/api'
import { type Static, Type } from 'typebox'
import type { KmsBackend, KmsKey } from './api.ts'
import {
  createKeyDerivation,
  derivationCheckBytes,
  type KeyDerivation,
  derivationSaltBytes as saltBytes,
} from './derived-key.ts'
import { kmsErrors } from './errors.ts'

const format = 1
const derivedFormat = 2
const versionBytes = 8
const nonceBytes = 12
const headBytes = 1 + versionBytes + saltBytes
const derivedBytes = headBytes + derivationCheckBytes
/** Maximum number of entries in each cache of derived keys. */
const derivedMax = 256
/** Data keys that are wrapped with one salt. */
const wrapsPerSaltMax = 2 ** 20
/** Documents in one page of the store. */
const listedMax = 1000

/** A key id that an operator created. It has no key material of its own. */
export const CreatedKey = Type.Object({ createdMs: Type.Number() }, { additionalProperties: false })

export interface BuiltInOptions {
  /** `<name>:<base64 of 32 bytes>`, as configured. */
  readonly masterKey: string
  readonly previousMasterKeys: readonly string[]
  readonly created: Collection<Static<typeof CreatedKey>>
  readonly random: Random
  readonly clock: Clock
}

interface MasterKey {
  readonly name: string
  readonly version: Buffer
  /** The version as text. */
  readonly label: string
  /** The key from which the keys of ids are derived. */
  readonly root: KeyObject
}

/** The current wrapping key of one key id. */
interface WrappingKey {
  readonly salt: Buffer
  readonly key: KeyObject
  wrapCount: number
}

const noSalt = Buffer.alloc(0)

function parseMasterKey(text: string): MasterKey {
  const colon = text.indexOf(':')
  const bytes = Buffer.from(text.slice(colon + 1), 'base64')
  const version = createHmac('sha256', bytes).update('svc kms master key version').digest().subarray(0, versionBytes)
  const root = deriveKey(bytes, noSalt, 'svc kms keys')
  bytes.fill(0)
  return { name: text.slice(0, colon), version, label: version.toString('hex'), root }
}

/** Identifies a master key `<name>:<base64>` without revealing it: its name, and its version in hexadecimal digits. */
export function masterKeyVersion(text: string): { readonly id: string; readonly name: string } {
  const { name, version } = parseMasterKey(text)
  return { id: version.toString('hex'), name }
}

export function createBuiltInKeys(options: BuiltInOptions): KmsBackend {
  const { created, random, clock } = options
  const masters = [options.masterKey, ...options.previousMasterKeys].map(parseMasterKey)
  const [current] = masters as [MasterKey]
  const derived = new Map<string, KeyObject>()
  const wrapping = new Map<string, WrappingKey>()
  /** Wrapping keys of format 1, by version and salt (as Latin-1 text) followed by the key id. */
  const unwrapping = new Map<string, KeyObject>()
  /** Derivations of format 2, by version (as Latin-1 text) followed by the key id. */
  const derivations = new Map<string, KeyDerivation>()

  const keyOf = (master: MasterKey, keyId: string): KeyObject => {
    const name = `${master.label} ${keyId}`
    let key = derived.get(name)
    if (key === undefined) {
      if (derived.size >= derivedMax) derived.clear()
      key = derive(master.root, Buffer.from(`key ${keyId}`))
      derived.set(name, key)
    }
    return key
  }

  const wrappingKeyOf = (keyId: string): WrappingKey => {
    const known = wrapping.get(keyId)
    if (known !== undefined && known.wrapCount < wrapsPerSaltMax) {
      known.wrapCount++
      return known
    }
    if (wrapping.size >= derivedMax) wrapping.clear()
    const salt = random.bytes(saltBytes)
    const made = { salt, key: derive(keyOf(current, keyId), salt), wrapCount: 1 }
    wrapping.set(keyId, made)
    return made
  }

  /** Undefined if no configured master key has that version. */
  const unwrappingKeyOf = (keyId: string, wrapped: Buffer): KeyObject | undefined => {
    const name = wrapped.latin1Slice(1, headBytes) + keyId
    const known = unwrapping.get(name)
    if (known !== undefined) return known
    const version = wrapped.subarray(1, 1 + versionBytes)
    const master = masters.find(candidate => candidate.version.equals(version))
    if (master === undefined) return undefined
    const key = derive(keyOf(master, keyId), wrapped.subarray(1 + versionBytes, headBytes))
    if (unwrapping.size >= derivedMax) unwrapping.clear()
    unwrapping.set(name, key)
    return key
  }

  /** Undefined if no configured master key has that version. */
  const derivationOf = (keyId: string, version: Buffer): KeyDerivation | undefined => {
    const name = version.latin1Slice() + keyId
    const known = derivations.get(name)
    if (known !== undefined) return known
    const master = masters.find(candidate => candidate.version.equals(version))
    if (master === undefined) return undefined
    const bytes = createHmac('sha256', keyOf(master, keyId)).update('data keys').digest()
    const made = createKeyDerivation(bytes)
    bytes.fill(0)
    if (derivations.size >= derivedMax) {
      for (const old of derivations.values()) old.erase()
      derivations.clear()
    }
    derivations.set(name, made)
    return made
  }

  const generateUnder = (keyId: string, context: Buffer): { plaintext: Buffer; wrapped: Buffer } => {
    const salt = random.bytes(saltBytes)
    const { dataKey, check } = derivationOf(keyId, current.version)!.derive(salt, context)
    const wrapped = Buffer.allocUnsafe(derivedBytes)
    wrapped[0] = derivedFormat
    wrapped.set(current.version, 1)
    wrapped.set(salt, 1 + versionBytes)
    wrapped.set(check, headBytes)
    return { plaintext: dataKey, wrapped }
  }

  const unwrapDerived = (keyId: string, wrapped: Buffer, context: Buffer): Buffer => {
    const derivation = derivationOf(keyId, wrapped.subarray(1, 1 + versionBytes))
    if (derivation === undefined) throw missing(keyId, wrapped)
    const { dataKey, check } = derivation.derive(wrapped.subarray(1 + versionBytes, headBytes), context)
    if (timingSafeEqual(check, wrapped.subarray(headBytes))) return dataKey
    dataKey.fill(0)
    throw kmsErrors.kms_open_failed()
  }

  const missing = (keyId: string, wrapped: Buffer): Error =>
    kmsErrors.kms_unavailable(
      `The version ${wrapped.toString('hex', 1, 1 + versionBytes)} of the master key, which wrapped this data key (key "${keyId}"), is neither in ` +
        'SVC_KMS_SECRET_KEY nor in SVC_KMS_SECRET_KEY_PREVIOUS: add it to the latter.',
      { extra: { reason: 'master_key_missing' } },
    )

  const wrapUnder = (keyId: string, plaintext: Uint8Array, context: Buffer, nonce: Buffer): Buffer => {
    const { salt, key } = wrappingKeyOf(keyId)
    const wrapped = seal(key, plaintext, context, nonce, headBytes)
    wrapped[0] = format
    wrapped.set(current.version, 1)
    wrapped.set(salt, 1 + versionBytes)
    return wrapped
  }

  const check = (wrapped: Uint8Array): Buffer => {
    const isWhole = wrapped[0] === derivedFormat ? wrapped.length === derivedBytes : wrapped[0] === format
    if (wrapped.length < headBytes || !isWhole) throw kmsErrors.kms_open_failed()
    return Buffer.isBuffer(wrapped) ? wrapped : Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.length)
  }

  const getKey = (id: string): MaybePromise<Omit<KmsKey, 'isDefault'> | undefined> => {
    if (id === current.name) return { id, createdMs: undefined }
    const document = created.get(id)
    if (document instanceof Promise) return document.then(late => late && { id, createdMs: late.value.createdMs })
    return document && { id, createdMs: document.value.createdMs }
  }

  return {
    defaultKeyId: current.name,
    getKey,

    generate(keyId, context) {
      const makeFor = (key: unknown) => {
        if (key === undefined) throw kmsErrors.kms_key_not_found(`There is no key "${keyId}".`)
        return generateUnder(keyId, context)
      }
      if (keyId === current.name) return generateUnder(keyId, context)
      const found = getKey(keyId)
      if (found instanceof Promise) return found.then(late => makeFor(late))
      return makeFor(found)
    },

    // `wrap` does not check that the id was created: the id of a stored data key can be the name of a former master key.
    wrap: (keyId, plaintext, context) => wrapUnder(keyId, plaintext, context, random.bytes(nonceBytes)),

    unwrap(keyId, wrapped, context) {
      const bytes = check(wrapped)
      if (bytes[0] === derivedFormat) return unwrapDerived(keyId, bytes, context)
      const key = unwrappingKeyOf(keyId, bytes)
      if (key === undefined) throw missing(keyId, bytes)
      try {
        return openSealed(key, bytes.subarray(headBytes), context)
      } catch (error) {
        if (error instanceof SealError) throw kmsErrors.kms_open_failed(undefined, { cause: error })
        throw error
      }
    },

    isCurrent: (_keyId, wrapped) =>
      check(wrapped)
        .subarray(1, 1 + versionBytes)
        .equals(current.version),

    async createKey(id) {
      if (id === current.name) throw kmsErrors.already_exists(`There is a key "${id}" already.`)
      const createdMs = clock.now()
      try {
        await created.put(id, { createdMs }, { ifNoneMatch: '*' })
      } catch (error) {
        if ((error as { code?: unknown }).code === 'precondition_failed')
          throw kmsErrors.already_exists(`There is a key "${id}" already.`)
        throw error
      }
      return { id, createdMs }
    },

    async listKeys(startAfter, limit) {
      const keys: Omit<KmsKey, 'isDefault'>[] = []
      let after = startAfter
      while (keys.length < limit) {
        const { documents } = await created.list({ startAfter: after, limit: Math.min(limit - keys.length, listedMax) })
        if (documents.length === 0) break
        for (const { id, value } of documents) keys.push({ id, createdMs: value.createdMs })
        after = documents.at(-1)!.id
      }
      return keys
    },

    status: () => ({ endpoints: [], online: true, error: '', version: '' }),
  }
}

function derive(key: KeyObject, label: Uint8Array): KeyObject {
  // One block of HMAC as a key derivation function (NIST SP 800-108): the key is uniformly random.
  const bytes = createHmac('sha256', key).update(label).digest()
  const derived = createSecretKey(bytes)
  bytes.fill(0)
  return derived
}
