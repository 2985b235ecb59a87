/**
 * Encrypts the bytes of a stream (a version uploaded in one piece, or one part of an upload) with AES-256-GCM in chunks. Each chunk is
 * encrypted and authenticated separately, so a range is decrypted without the chunks before it.
 *
 *   chunk            65 520 bytes of plaintext and a tag of 16 bytes: 64 KiB as stored, so that chunks and blocks of drives are aligned.
 *                    The last chunk is shorter. An empty stream has one chunk, which consists of its tag: emptiness is authenticated, too.
 *   key              A version in one piece is the only stream of its data key and is encrypted with the data key itself. A part has a
 *                    derived key: HMAC-SHA-512 under the data key of `svc object stream 1`, identity (16 bytes), part number (u16) and
 *                    salt (8 bytes); the first 32 bytes of the result are the key, the next 12 the initial nonce. A part that is sent
 *                    again gets another salt, so no nonce is used twice under one key. Format 1 of sealed.ts derives the key of a
 *                    version in one piece in the same way, with part number 0; such versions are read, and no longer written.
 *   nonce            the initial nonce (zeros for a version in one piece), its last four bytes XORed with the index of the chunk
 *   associated data  identity of the version, part number (u16), index of the chunk (u32), 1 for the last chunk of the stream or 0 (u8)
 *
 * Numbers are big-endian. test/golden has known answers, which another implementation computed.
 *
 * Guarantee: a chunk decrypts only in its own place of its own version. A chunk that was altered, swapped, repeated, left out or cut
 * off is `corrupt` before any byte of it is returned. Not authenticated: the list of parts of a version (decryptor.ts, README.md).
 * Source: the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár, 2015).
 */
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { storageErrors } from 'svc/plugins/storage/api'

export const chunkBytes = 64 * 1024
const tagBytes = 16
export const plainChunkBytes = chunkBytes - tagBytes
export const identityBytes = 16
export const saltBytes = 8
const nonceBytes = 12
const keyBytes = 32

/** Number of chunks; an empty plaintext has one. */
export function chunkCount(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / plainChunkBytes))
}

export function storedBytes(sizeBytes: number): number {
  return sizeBytes + tagBytes * chunkCount(sizeBytes)
}

/** Identifies the stream of a cipher. Part number 0: a version in one piece. */
export interface StreamPlace {
  readonly identity: Buffer
  readonly partNumber: number
  /** Undefined: the data key itself encrypts, because this is its only stream. */
  readonly salt: Buffer | undefined
}

/** Reused for each chunk: OpenSSL copies them before the call returns, and they are no secrets. */
const nonce = Buffer.alloc(nonceBytes)
const associated = Buffer.alloc(identityBytes + 2 + 4 + 1)
const zeros = Buffer.alloc(nonceBytes)
const purpose = Buffer.from('svc object stream 1')

/** Encrypts and decrypts the chunks of one stream. */
export class ChunkCipher {
  readonly #identity: Buffer
  readonly #partNumber: number
  readonly #nonceStart: Buffer
  #key: KeyObject | undefined

  /**
   * Takes a KeyObject, also for a key of one use: given bytes, node:crypto first tries to read a KeyObject and catches an error, which
   * costs 20 µs under a deep stack.
   */
  constructor(dataKey: KeyObject, { identity, partNumber, salt }: StreamPlace) {
    this.#identity = identity
    this.#partNumber = partNumber
    if (salt === undefined) {
      this.#key = dataKey
      this.#nonceStart = zeros
      return
    }
    identity.copy(associated)
    associated.writeUInt16BE(partNumber, identityBytes)
    const derived = createHmac('sha512', dataKey)
      .update(purpose)
      .update(associated.subarray(0, identityBytes + 2))
      .update(salt)
      .digest()
    this.#key = createSecretKey(derived.subarray(0, keyBytes))
    this.#nonceStart = Buffer.from(derived.subarray(keyBytes, keyBytes + nonceBytes))
    derived.fill(0)
  }

  /** The stored chunk in two pieces: the ciphertext, as long as the plaintext, and the tag. */
  encrypt(index: number, isLast: boolean, plaintext: Uint8Array): readonly [ciphertext: Buffer, tag: Buffer] {
    const key = this.#moveTo(index, isLast)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, gcm)
    cipher.setAAD(associated)
    const ciphertext = cipher.update(plaintext)
    cipher.final()
    return [ciphertext, cipher.getAuthTag()]
  }

  /** The plaintext of a stored chunk; throws `corrupt` unless these are exactly the bytes that were stored in this place. */
  decrypt(index: number, isLast: boolean, stored: Uint8Array): Buffer {
    if (stored.length < tagBytes) throw notAsStored()
    const key = this.#moveTo(index, isLast)
    const end = stored.length - tagBytes
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, gcm)
    decipher.setAAD(associated)
    decipher.setAuthTag(stored.subarray(end))
    const plaintext = decipher.update(stored.subarray(0, end))
    try {
      decipher.final()
    } catch {
      // The error of OpenSSL has no details: the tag does not match.
      throw notAsStored()
    }
    return plaintext
  }

  /** Erases the key: later calls of `encrypt` and `decrypt` throw. Idempotent. */
  erase(): void {
    this.#key = undefined
  }

  /** Fills nonce and associated data; returns the key. */
  #moveTo(index: number, isLast: boolean): KeyObject {
    if (this.#key === undefined) throw new Error('The key of this stream was erased.')
    const at = nonceBytes - 4
    this.#nonceStart.copy(nonce)
    nonce.writeUInt32BE((this.#nonceStart.readUInt32BE(at) ^ index) >>> 0, at)
    this.#identity.copy(associated)
    associated.writeUInt16BE(this.#partNumber, identityBytes)
    associated.writeUInt32BE(index, identityBytes + 2)
    associated[identityBytes + 6] = isLast ? 1 : 0
    return this.#key
  }
}

const gcm = { authTagLength: tagBytes } as const

export function notAsStored(): Error {
  return storageErrors.corrupt('Encrypted bytes differ from the bytes that were stored.')
}

/** Frees the memory of a chunk at once: leaving it to the garbage collector costs as much as the encryption. */
export function free(bytes: Buffer): void {
  const { buffer } = bytes
  // A shorter view may share its memory with other buffers.
  if (bytes.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
