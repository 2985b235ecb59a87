/**
 * Randomness of the system (OpenSSL's generator), drawn for many small requests at once: a draw of 16 bytes costs nearly what one of
 * 4 KiB does, and a write of an encrypted object needs several.
 *
 * 1. No byte is given out twice: what was given out is overwritten in the pool.
 * 2. What was not given out within a second is overwritten, too, so that who reads the memory of an idle server finds nothing of the
 *    keys that it will make.
 */
import { randomBytes, randomFillSync } from 'node:crypto'
import type { Clock, Random } from './ports.ts'

const poolBytes = 4096
/** More than this is drawn on its own. */
const pooledBytesMax = 256
const unusedMsMax = 1000

export interface RandomPool extends Pick<Random, 'bytes'> {
  /** How many bytes that nobody has got yet are there. */
  readonly unusedBytes: number
}

/** `fill` overwrites the buffer with random bytes. */
export function createRandomPool(after: Clock['after'], fill: (bytes: Buffer) => void = randomFillSync): RandomPool {
  const pool = Buffer.alloc(poolBytes)
  let at = poolBytes
  let isWatched = false

  const forget = () => {
    isWatched = false
    pool.fill(0, at)
    at = poolBytes
  }

  return {
    bytes(size) {
      if (size > pooledBytesMax) return randomBytes(size)
      if (at + size > poolBytes) {
        fill(pool)
        at = 0
        // One timer, of an earlier filling where there is one: then these bytes go sooner.
        if (!isWatched) after(unusedMsMax, forget)
        isWatched = true
      }
      const drawn = Buffer.allocUnsafe(size)
      pool.copy(drawn, 0, at, at + size)
      pool.fill(0, at, at + size)
      at += size
      return drawn
    },
    get unusedBytes() {
      return poolBytes - at
    },
  }
}
