/**
 * Sealing: authenticated encryption of small secrets with AES-256-GCM, and the derivation of keys for it.
 *
 *     0  u8        format, 1
 *     1  12 bytes  nonce, random
 *    13            ciphertext, as long as the plaintext
 *       16 bytes   tag
 *
 * The context (the place of the secret, such as collection, document and field) is authenticated, too: a sealed value that was moved to
 * another place cannot be opened there. With random nonces one key may seal 2^32 values (NIST SP 800-38D, 8.3).
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, scrypt } from 'node:crypto'

const format = 1
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + nonceBytes
const gcm = { authTagLength: tagBytes } as const
export const sealingKeyBytes = 32

/** Thrown by `openSealed`: the key, the context or the bytes are wrong. AES-GCM cannot tell which. */
export class SealError extends Error {
  constructor(message = 'the sealed value cannot be opened: another key, another place, or damaged bytes') {
    super(message)
    this.name = 'SealError'
  }
}

/**
 * `nonce`: 12 random bytes, never used twice under one key. `context`: text, or its UTF-8. `roomBytes`: number of zero bytes to leave for
 * the caller in front of the sealed value.
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

/** Returns the plaintext; throws SealError. */
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
    // The error of OpenSSL has no details: the tag does not match.
    throw new SealError()
  }
  return plaintext
}

const purpose = Buffer.from(`svc sealed ${format}\n`)
/** Reused by all calls: the context is no secret, and OpenSSL has copied it when `setAAD` returns. */
const associated = Buffer.alloc(4096)
associated.set(purpose)

function associatedData(context: string | Uint8Array): Buffer {
  const isText = typeof context === 'string'
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (purpose.length + context.length * (isText ? 3 : 1) > associated.length) {
    return Buffer.concat([purpose, isText ? Buffer.from(context) : context])
  }
  if (isText) return associated.subarray(0, purpose.length + associated.write(context, purpose.length))
  associated.set(context, purpose.length)
  return associated.subarray(0, purpose.length + context.length)
}

/** Derives a key for one purpose (`info`) from a strong secret: HKDF with SHA-256 (RFC 5869). */
export function deriveKey(secret: Uint8Array, salt: Uint8Array, info: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, salt, info, sealingKeyBytes)))
}

/** Cost of scrypt (RFC 7914): N, a power of two; block size; parallelism. */
export interface ScryptCost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** The strength that OWASP recommends for scrypt, with less memory (32 MiB) and more time (three passes). */
export const passwordCost: ScryptCost = { n: 32_768, r: 8, p: 3 }

/** Derives a key from a password that a person may have chosen. Runs in the thread pool; takes a quarter of a second. */
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
