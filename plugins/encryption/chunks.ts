/**
 * Encrypts and decrypts the bytes of a stream (a version uploaded in one piece, or one part of an upload) with AES-256-GCM in chunks. Each
 * chunk is encrypted and authenticated separately, so a range can be decrypted without the chunks before it.
 *
 *   chunk            65 520 bytes of plaintext and a tag of 16 bytes. A stored chunk has 64 KiB, so it is aligned with the blocks of the
 *                    drive. The last chunk may be shorter. An empty stream has one chunk with only a tag, so an empty stream is
 *                    authenticated, too.
 *   key              A version in one piece is the only stream of its data key and is encrypted with the data key itself. A part has a
 *                    derived key: the first 32 bytes of HMAC-SHA-512(data key, `svc object stream 1` and identity (16 bytes) and part
 *                    number (u16) and salt (8 bytes)). The next 12 bytes are the initial nonce. The salt is stored (sealed.ts). A part
 *                    that is uploaded again gets a new salt and so a new key: no nonce is used twice under one key. Older versions in
 *                    one piece (format 1 of sealed.ts) have a derived key with part number 0. They are still read, but no new ones are
 *                    written.
 *   nonce            the initial nonce (zeros for a version in one piece), its last four bytes XORed with the index of the chunk
 *   associated data  identity of the version, part number (u16), index of the chunk (u32), 1 for the last chunk of the stream or 0 (u8)
 *
 * Numbers are big-endian. test/golden has known answers that an independent implementation computed.
 *
 * Guarantee: a chunk decrypts only in its own place of its own version. If chunks were altered, swapped, repeated, left out or cut off,
 * `decrypt` throws `corrupt` for the first chunk that is not the stored one of its place, and returns no byte of that chunk. The list of
 * parts of a version is not authenticated (decryptor.ts, README.md).
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

/** Identifies the stream of a cipher. A version in one piece has part number 0. */
export interface StreamPlace {
  readonly identity: Buffer
  readonly partNumber: number
  /** Undefined if the stream is encrypted with the data key itself, which then has no other stream. */
  readonly salt: Buffer | undefined
}

/** Both buffers are reused for each chunk: OpenSSL copies their bytes before the call returns, and the bytes are not secret. */
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
   * Takes a KeyObject even if the key is used once. With bytes, node:crypto first tries to read a KeyObject and catches the error, which
   * costs 20 µs when the stack is deep.
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

  /** Returns the plaintext of a stored chunk. Throws `corrupt` unless these are exactly the bytes that were stored in this place. */
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
      // The tag does not match; the error of OpenSSL has no details.
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
