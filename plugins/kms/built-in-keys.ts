/**
 * The built-in keys: each follows from the master key and its id, so that no key is stored. The ids that operators have created are
 * documents of the store: a data key is made under them only while they are there, and opens without them. What the keys seal names the version of the master key, and is opened with those that were replaced, too.
 *
 *     0  u8        format: 1 of what is given (another key's or another place's data key), 2 of a new data key
 *     1  8 bytes   version: the first ones of HMAC-SHA-256 under the master key of `svc kms master key version`
 *     9  16 bytes  salt, random. Format 1: makes the key that seals this thing and some others (see below).
 *                  Format 2: makes the data key itself (derived-key.ts)
 *    25            format 1: sealed (sealing.ts), bound to the context
 *       16 bytes   format 2: the check of the data key, which depends on the context, too
 *
 * From the master key follows a root (HKDF-SHA-256, no salt, `svc kms keys`), from that the key of an id (HMAC-SHA-256 of `key ` and the
 * id), and from that the sealing key of some things (HMAC-SHA-256 of their salt), and the key that data keys follow from (HMAC-SHA-256 of
 * `data keys`, which no salt is as long as). A data key that follows from the master key is sealed like any other when it goes to another
 * master key, id or place, so that its data need not be written again.
 *
 * In format 1 a salt serves for up to 2^20 things of one thread and one key id, each with a random nonce of 96 bits, which is far from the 2^32 after
 * which nonces may meet (NIST SP 800-38D, 8.3). So sealing keys are derived seldom; some are kept at hand, as key objects, like those
 * they are derived from.
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
/** Derived keys that are kept at hand. */
const derivedMax = 256
/** Things that one salt serves for. */
const sealedMax = 2 ** 20
/** Documents in one page of the store. */
const listedMax = 1000

/** A key that was created; it has no material of its own. */
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
  /** What keys follow from. */
  readonly root: KeyObject
}

/** What seals now, for one key id. */
interface SealingKey {
  readonly salt: Buffer
  readonly key: KeyObject
  sealedCount: number
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

/** What names a master key `<name>:<base64>` without giving anything of it away: its name, and its version in hexadecimal digits. */
export function masterKeyVersion(text: string): { readonly id: string; readonly name: string } {
  const { name, version } = parseMasterKey(text)
  return { id: version.toString('hex'), name }
}

export function createBuiltInKeys(options: BuiltInOptions): KmsBackend {
  const { created, random, clock } = options
  const masters = [options.masterKey, ...options.previousMasterKeys].map(parseMasterKey)
  const [current] = masters as [MasterKey]
  const derived = new Map<string, KeyObject>()
  const sealing = new Map<string, SealingKey>()
  /** By version and salt (Latin-1), and key id. */
  const opening = new Map<string, KeyObject>()
  /** By version (Latin-1) and key id. */
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

  const sealingKeyOf = (keyId: string): SealingKey => {
    const known = sealing.get(keyId)
    if (known !== undefined && known.sealedCount < sealedMax) {
      known.sealedCount++
      return known
    }
    if (sealing.size >= derivedMax) sealing.clear()
    const salt = random.bytes(saltBytes)
    const made = { salt, key: derive(keyOf(current, keyId), salt), sealedCount: 1 }
    sealing.set(keyId, made)
    return made
  }

  /** Undefined where no master key of that version is there. */
  const openingKeyOf = (keyId: string, sealed: Buffer): KeyObject | undefined => {
    const name = sealed.latin1Slice(1, headBytes) + keyId
    const known = opening.get(name)
    if (known !== undefined) return known
    const version = sealed.subarray(1, 1 + versionBytes)
    const master = masters.find(candidate => candidate.version.equals(version))
    if (master === undefined) return undefined
    const key = derive(keyOf(master, keyId), sealed.subarray(1 + versionBytes, headBytes))
    if (opening.size >= derivedMax) opening.clear()
    opening.set(name, key)
    return key
  }

  /** Undefined where no master key of that version is there. */
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
      for (const old of derivations.values()) old.forget()
      derivations.clear()
    }
    derivations.set(name, made)
    return made
  }

  const generateUnder = (keyId: string, context: Buffer): { plaintext: Buffer; sealed: Buffer } => {
    const salt = random.bytes(saltBytes)
    const { dataKey, check } = derivationOf(keyId, current.version)!.derive(salt, context)
    const sealed = Buffer.allocUnsafe(derivedBytes)
    sealed[0] = derivedFormat
    sealed.set(current.version, 1)
    sealed.set(salt, 1 + versionBytes)
    sealed.set(check, headBytes)
    return { plaintext: dataKey, sealed }
  }

  const openDerived = (keyId: string, sealed: Buffer, context: Buffer): Buffer => {
    const derivation = derivationOf(keyId, sealed.subarray(1, 1 + versionBytes))
    if (derivation === undefined) throw missing(keyId, sealed)
    const { dataKey, check } = derivation.derive(sealed.subarray(1 + versionBytes, headBytes), context)
    if (timingSafeEqual(check, sealed.subarray(headBytes))) return dataKey
    dataKey.fill(0)
    throw kmsErrors.kms_open_failed()
  }

  const missing = (keyId: string, sealed: Buffer): Error =>
    kmsErrors.kms_unavailable(
      `The version ${sealed.toString('hex', 1, 1 + versionBytes)} of the master key, which sealed this (key "${keyId}"), is neither in ` +
        'SVC_KMS_SECRET_KEY nor in SVC_KMS_SECRET_KEY_PREVIOUS: add it to the latter.',
      { extra: { reason: 'master_key_missing' } },
    )

  const sealUnder = (keyId: string, plaintext: Uint8Array, context: Buffer, nonce: Buffer): Buffer => {
    const { salt, key } = sealingKeyOf(keyId)
    const sealed = seal(key, plaintext, context, nonce, headBytes)
    sealed[0] = format
    sealed.set(current.version, 1)
    sealed.set(salt, 1 + versionBytes)
    return sealed
  }

  const check = (sealed: Uint8Array): Buffer => {
    const isWhole = sealed[0] === derivedFormat ? sealed.length === derivedBytes : sealed[0] === format
    if (sealed.length < headBytes || !isWhole) throw kmsErrors.kms_open_failed()
    return Buffer.isBuffer(sealed) ? sealed : Buffer.from(sealed.buffer, sealed.byteOffset, sealed.length)
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

    // Without a look whether the key exists: what is sealed anew may be under the name of a master key that was replaced.
    seal: (keyId, plaintext, context) => sealUnder(keyId, plaintext, context, random.bytes(nonceBytes)),

    open(keyId, sealed, context) {
      const bytes = check(sealed)
      if (bytes[0] === derivedFormat) return openDerived(keyId, bytes, context)
      const key = openingKeyOf(keyId, bytes)
      if (key === undefined) throw missing(keyId, bytes)
      try {
        return openSealed(key, bytes.subarray(headBytes), context)
      } catch (error) {
        if (error instanceof SealError) throw kmsErrors.kms_open_failed(undefined, { cause: error })
        throw error
      }
    },

    isCurrent: (_keyId, sealed) =>
      check(sealed)
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
