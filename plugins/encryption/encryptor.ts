/**
 * Encrypts pieces of any size as chunks (chunks.ts). Keeps up to one chunk of plaintext in memory, because only the end of the stream
 * tells whether a chunk is the last one.
 */
import type { MaybePromise } from 'svc/kernel'
import { type ChunkCipher, chunkCount, free, plainChunkBytes, storedBytes } from './chunks.ts'

export type Emit = (stored: Buffer) => MaybePromise<void>

export class Encryptor {
  readonly #cipher: ChunkCipher
  #held: Buffer | undefined
  #heldBytes = 0
  #index = 0

  constructor(cipher: ChunkCipher) {
    this.#cipher = cipher
  }

  push(piece: Buffer, emit: Emit): MaybePromise<void> {
    return this.#pushFrom(piece, 0, emit)
  }

  #pushFrom(piece: Buffer, start: number, emit: Emit): MaybePromise<void> {
    let at = start
    while (at < piece.length) {
      // The chunk is full, and it is not the last one, since more bytes follow.
      if (this.#heldBytes === plainChunkBytes) {
        const pending = this.#emitHeld(false, emit)
        if (pending !== undefined) return pending.then(() => this.#pushFrom(piece, at, emit))
      }
      this.#held ??= Buffer.allocUnsafeSlow(plainChunkBytes)
      const count = Math.min(piece.length - at, plainChunkBytes - this.#heldBytes)
      piece.copy(this.#held, this.#heldBytes, at, at + count)
      this.#heldBytes += count
      at += count
    }
  }

  end(emit: Emit): MaybePromise<void> {
    return this.#emitHeld(true, emit)
  }

  /** Encrypts a whole stream at once. */
  whole(bytes: Buffer): Buffer {
    const stored = Buffer.allocUnsafe(storedBytes(bytes.length))
    const count = chunkCount(bytes.length)
    let filled = 0
    for (let index = 0; index < count; index++) {
      const plaintext = bytes.subarray(index * plainChunkBytes, (index + 1) * plainChunkBytes)
      const [ciphertext, tag] = this.#cipher.encrypt(index, index === count - 1, plaintext)
      stored.set(ciphertext, filled)
      stored.set(tag, filled + ciphertext.length)
      filled += ciphertext.length + tag.length
      free(ciphertext)
    }
    return stored
  }

  #emitHeld(isLast: boolean, emit: Emit): MaybePromise<void> {
    const plaintext = this.#held?.subarray(0, this.#heldBytes) ?? nothing
    const [ciphertext, tag] = this.#cipher.encrypt(this.#index++, isLast, plaintext)
    this.#heldBytes = 0
    if (isLast) this.#eraseHeld()
    const first = ciphertext.length === 0 ? undefined : emit(ciphertext)
    if (first !== undefined) {
      return first.then(() => {
        free(ciphertext)
        return emit(tag)
      })
    }
    free(ciphertext)
    return emit(tag)
  }

  /** Erases the key and the plaintext. Idempotent. */
  close(): void {
    this.#cipher.erase()
    this.#eraseHeld()
  }

  /** Overwrites the plaintext before its memory is reused. */
  #eraseHeld(): void {
    this.#held?.fill(0)
    this.#held = undefined
    this.#heldBytes = 0
  }
}

const nothing = Buffer.alloc(0)
