/**
 * Sealing: authenticated encryption of small secrets with AES-256-GCM, and the derivation of keys for it.
 *
 *     0  u8        format, 1
 *     1  12 bytes  nonce, random
 *    13            ciphertext, as long as the plaintext
 *       16 bytes   tag
 *
 * The context (where the secret belongs: collection, document, field) is authenticated with it, so that a sealed value that
 * was moved somewhere else cannot be opened there. With random nonces one key may seal 2^32 values (NIST SP 800-38D, 8.3).
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, scrypt } from 'node:crypto'

const format = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes
const gcm = { authTagLength: tagBytes } as const
export const sealingKeyBytes = 32

/** What `openSealed` throws: another key, another context, or changed bytes. It does not say which; nobody can know. */
export class SealError extends Error {
  constructor(message = 'the sealed value cannot be opened: another key, another place, or damaged bytes') {
    super(message)
    this.name = 'SealError'
  }
}

/**
 * `nonce`: 12 random bytes, never the same twice under one key. `context`: text, or its UTF-8. `roomBytes`: so many bytes are left for
 * the caller in front of what is sealed; they hold zeros.
 */
export function seal(
  key: KeyObject,
  plaintext: Uint8Array,
  context: string | Uint8Array,
  nonce: Uint8Array,
  roomBytes = 0,
): Buffer {
  if (nonce.length !== nonceBytes) throw new RangeError(`a nonce has ${nonceBytes} bytes`)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, gcm)
  cipher.setAAD(associatedData(context))
  const sealed = Buffer.allocUnsafe(roomBytes + headBytes + plaintext.length + tagBytes)
  sealed.fill(0, 0, roomBytes)
  sealed[roomBytes] = format
  sealed.set(nonce, roomBytes + 1)
  sealed.set(cipher.update(plaintext), roomBytes + headBytes)
  cipher.final()
  sealed.set(cipher.getAuthTag(), sealed.length - tagBytes)
  return sealed
}

/** The plaintext, or SealError. */
export function openSealed(key: KeyObject, sealed: Uint8Array, context: string | Uint8Array): Buffer {
  if (sealed.length < headBytes + tagBytes) throw new SealError()
  if (sealed[0] !== format)
    throw new SealError(`the sealed value has format ${sealed[0]}, which this release cannot read`)
  const end = sealed.length - tagBytes
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, headBytes), gcm)
  decipher.setAAD(associatedData(context))
  decipher.setAuthTag(sealed.subarray(end))
  const plaintext = decipher.update(sealed.subarray(headBytes, end))
  try {
    decipher.final()
  } catch {
    // OpenSSL says no more than that it does not verify.
    throw new SealError()
  }
  return plaintext
}

const purpose = Buffer.from(`svc sealed ${format}\n`)
/** Used from one call to the next: what is authenticated is no secret, and OpenSSL has seen it when `setAAD` returns. */
const associated = Buffer.alloc(4096)
associated.set(purpose)

function associatedData(context: string | Uint8Array): Buffer {
  const isText = typeof context === 'string'
  // A character takes at most three bytes for each of its units.
  if (purpose.length + context.length * (isText ? 3 : 1) > associated.length) {
    return Buffer.concat([purpose, isText ? Buffer.from(context) : context])
  }
  if (isText) return associated.subarray(0, purpose.length + associated.write(context, purpose.length))
  associated.set(context, purpose.length)
  return associated.subarray(0, purpose.length + context.length)
}

/** A key for one purpose (`info`) from a strong secret: HKDF with SHA-256 (RFC 5869). */
export function deriveKey(secret: Uint8Array, salt: Uint8Array, info: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, salt, info, sealingKeyBytes)))
}

/** Cost of scrypt (RFC 7914): N, a power of two; block size; parallelism. */
export interface ScryptCost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** 32 MiB of memory, three times over: what OWASP asks of scrypt, with less memory and more time. */
export const passwordCost: ScryptCost = { n: 32_768, r: 8, p: 3 }

/** A key from a password that a person may have chosen. Off the main thread; takes a quarter of a second. */
export function deriveKeyFromPassword(password: string, salt: Uint8Array, cost: ScryptCost): Promise<KeyObject> {
  const { n, r, p } = cost
  const maxmem = 128 * n * r + 128 * r * p + 4 * 1024 * 1024
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, sealingKeyBytes, { N: n, r, p, maxmem }, (error, bytes) => {
      if (error !== null) reject(error)
      else resolve(createSecretKey(bytes))
    })
  })
}
