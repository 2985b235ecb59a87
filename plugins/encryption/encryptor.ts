/** Makes chunks of what comes in pieces of any size. Holds at most one chunk, because only the end tells which is the last. */
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
    // Beginning with nothing held is the same as filling what is held.
    return this.#pushFrom(piece, 0, emit)
  }

  #pushFrom(piece: Buffer, start: number, emit: Emit): MaybePromise<void> {
    let at = start
    while (at < piece.length) {
      // Full, and now it is known that more follows.
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

  /** All at once. */
  whole(bytes: Buffer): Buffer {
    // In memory of its own: as it is it may stay in the cache of the drive.
    const stored = Buffer.allocUnsafeSlow(storedBytes(bytes.length))
    const count = chunkCount(bytes.length)
    let filled = 0
    for (let index = 0; index < count; index++) {
      const plaintext = bytes.subarray(index * plainChunkBytes, (index + 1) * plainChunkBytes)
      const [ciphertext, tag] = this.#cipher.seal(index, index === count - 1, plaintext)
      stored.set(ciphertext, filled)
      stored.set(tag, filled + ciphertext.length)
      filled += ciphertext.length + tag.length
      free(ciphertext)
    }
    return stored
  }

  #emitHeld(isLast: boolean, emit: Emit): MaybePromise<void> {
    const plaintext = this.#held?.subarray(0, this.#heldBytes) ?? nothing
    const [ciphertext, tag] = this.#cipher.seal(this.#index++, isLast, plaintext)
    this.#heldBytes = 0
    if (isLast) this.#forgetHeld()
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

  /** Forgets the key, too. Idempotent. */
  close(): void {
    this.#cipher.forget()
    this.#forgetHeld()
  }

  /** Plaintext does not stay in memory that others get. */
  #forgetHeld(): void {
    this.#held?.fill(0)
    this.#held = undefined
    this.#heldBytes = 0
  }
}

const nothing = Buffer.alloc(0)
