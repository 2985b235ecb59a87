/** The real ports: the only place that touches the system's clock and randomness. */
import { randomBytes, randomFillSync } from 'node:crypto'
import type { Clock, Ports, Random } from '../ports.ts'

const clock: Clock = {
  now: () => Date.now(),
  monotonicNs: () => process.hrtime.bigint(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

const poolBytes = 4096
/** More than this is drawn on its own. */
const pooledBytesMax = 256
const unusedMsMax = 1000

/**
 * Randomness of the system (OpenSSL's generator), drawn for many small requests at once: a draw of 16 bytes costs nearly as much as one
 * of 4 KiB, and a write of an encrypted object needs several. `fill` overwrites the buffer with random bytes.
 *
 * 1. No byte is handed out twice: bytes that were handed out are overwritten in the pool.
 * 2. Bytes that are not handed out within a second are overwritten, too, so that the memory of an idle server has no part of its future
 *    keys.
 */
export function pooledBytes(after: Clock['after'], fill: (bytes: Buffer) => void = randomFillSync): Random['bytes'] {
  const pool = Buffer.alloc(poolBytes)
  let at = poolBytes
  let isWatched = false
  const forget = () => {
    isWatched = false
    pool.fill(0, at)
    at = poolBytes
  }
  return size => {
    if (size > pooledBytesMax) return randomBytes(size)
    if (at + size > poolBytes) {
      fill(pool)
      at = 0
      // One timer, perhaps of an earlier filling: then these bytes are overwritten sooner.
      if (!isWatched) after(unusedMsMax, forget)
      isWatched = true
    }
    const drawn = Buffer.allocUnsafe(size)
    pool.copy(drawn, 0, at, at + size)
    pool.fill(0, at, at + size)
    at += size
    return drawn
  }
}

const random: Random = { bytes: pooledBytes(clock.after), float: () => Math.random() }

export function createSystemPorts(): Ports {
  return { clock, random }
}
