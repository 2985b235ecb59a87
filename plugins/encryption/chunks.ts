/**
 * How the bytes of a version, or of one part, are encrypted: AES-256-GCM over chunks, each of its own, so that any range opens without
 * what lies before it.
 *
 *   chunk      65 520 bytes of plaintext and 16 of tag: 64 KiB as stored, so that chunks begin where the blocks of drives do. The last
 *              one is shorter. There is always one, if only with a tag: also nothing is authenticated.
 *   key        one for each stream (a version, or a part). A version in one piece is the only stream of its data key, which encrypts
 *              it; nonces begin at zero there. A part has a key of its own: HMAC-SHA-512 under the data key of `svc object stream 1`,
 *              identity (16 bytes), part number (u16) and salt (8 bytes). Its first 32 bytes encrypt, the next 12 are where nonces
 *              begin. A part that is sent again has another salt, so no nonce is used twice under one key. So it was for versions in
 *              one piece, too, with part number 0, before sealed.ts had its format 2: they are still read.
 *   nonce      the beginning, its last four bytes combined (xor) with the number of the chunk
 *   associated identity of the version, number of the part (u16), number of the chunk (u32), whether it is the last (u8)
 *
 * Numbers are big-endian. test/golden has known answers, which another implementation computed.
 * So a chunk opens only at its own place of its own version: whatever is altered, swapped, left out, repeated or cut off is noticed
 * before a byte of it goes out. Source: the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár, 2015).
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

/** Of an empty plaintext, too, there is one. */
export function chunkCount(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / plainChunkBytes))
}

export function storedBytes(sizeBytes: number): number {
  return sizeBytes + tagBytes * chunkCount(sizeBytes)
}

/** The place of a stream: part 0 is a version that came in one piece. */
export interface StreamPlace {
  readonly identity: Buffer
  readonly partNumber: number
  /** Undefined: the data key itself encrypts, because this is its only stream. */
  readonly salt: Buffer | undefined
}

/** Filled anew for each chunk; no secrets, and OpenSSL has taken them before anybody else could come. */
const nonce = Buffer.alloc(nonceBytes)
const associated = Buffer.alloc(identityBytes + 2 + 4 + 1)
const zeros = Buffer.alloc(nonceBytes)
const purpose = Buffer.from('svc object stream 1')

/** Seals and opens the chunks of one stream. */
export class ChunkCipher {
  readonly #identity: Buffer
  readonly #partNumber: number
  readonly #nonceStart: Buffer
  #key: KeyObject | undefined

  /**
   * Keys are objects, also those of one use: whatever takes a key asks bytes whether they are one by catching an error, which costs
   * 20 µs under a deep stack.
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

  /** What is stored, in two pieces: as many bytes as the plaintext, and the tag. */
  seal(index: number, isLast: boolean, plaintext: Uint8Array): readonly [ciphertext: Buffer, tag: Buffer] {
    const key = this.#moveTo(index, isLast)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, gcm)
    cipher.setAAD(associated)
    const ciphertext = cipher.update(plaintext)
    cipher.final()
    return [ciphertext, cipher.getAuthTag()]
  }

  /** The plaintext of a stored chunk; throws `corrupt` where it is not exactly what was stored there. */
  open(index: number, isLast: boolean, stored: Uint8Array): Buffer {
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
      // OpenSSL says no more than that it does not verify.
      throw notAsStored()
    }
    return plaintext
  }

  /** Nothing is sealed or opened after it. Idempotent. */
  forget(): void {
    this.#key = undefined
  }

  /** Fills nonce and associated data; returns the key. */
  #moveTo(index: number, isLast: boolean): KeyObject {
    if (this.#key === undefined) throw new Error('The key of this stream was forgotten.')
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
  return storageErrors.corrupt('Encrypted bytes are not what was stored.')
}

/** Gives the memory of a chunk back at once: left to the garbage collector it costs as much as the encryption. */
export function free(bytes: Buffer): void {
  const { buffer } = bytes
  // Shorter than its memory: others may have parts of it.
  if (bytes.byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
