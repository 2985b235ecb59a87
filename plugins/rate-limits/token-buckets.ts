/**
 * Token buckets, and counts in windows of time, in shared memory of all threads, of a fixed size for any number of clients. A bucket is
 * stored as the time at which it will be full again (the generic cell rate algorithm): a full one needs no memory, and its slot is free for
 * another. A count is stored in the lowest bits of the time at which its window ends.
 *
 * One keyed hash of the name selects a set of slots, another identifies the bucket within it. If all slots of a set are taken, the
 * one that would be free first is evicted, so that a bucket is full again and a count is 0: a flood of more names than slots makes limits
 * milder, and never refuses clients with few requests.
 */
const waysPerSet = 8
const setCount = 8192
const slotCount = waysPerSet * setCount
const tagBytes = 4
const timeBytes = 8

/** Size of the memory that threads share. */
export const tokenBucketsBytes = slotCount * (tagBytes + timeBytes)

/** Tokens per second, and how many a full bucket has; both at least 1. */
export interface Rate {
  readonly intervalNs: bigint
  readonly capacityNs: bigint
}

/** At most `max` in a time that begins with the first. */
export interface Window {
  readonly lengthNs: bigint
  /** Less than 2 to the power of `countBits`. */
  readonly max: number
}

/** The end of a window is cut to 8 microseconds. */
const countBits = 13n
const countMask = (1n << countBits) - 1n

export function rateOf(perSecond: number, burst: number): Rate {
  const intervalNs = BigInt(Math.ceil(1e9 / perSecond))
  return { intervalNs, capacityNs: intervalNs * BigInt(burst) }
}

export class TokenBuckets {
  readonly #times: BigInt64Array
  readonly #tags: Int32Array
  readonly #setSeed: number
  readonly #tagSeed: number

  /** `memory` has `tokenBucketsBytes`, initially zeroes; the seeds are the same in all threads, and secret. */
  constructor(memory: SharedArrayBuffer, setSeed: number, tagSeed: number) {
    this.#times = new BigInt64Array(memory, 0, slotCount)
    this.#tags = new Int32Array(memory, slotCount * timeBytes, slotCount)
    this.#setSeed = setSeed
    this.#tagSeed = tagSeed
  }

  /** Takes a token of `name` below `space` at this time: 0, or the nanoseconds until there is one. */
  take(space: number, name: string, { intervalNs, capacityNs }: Rate, nowNs: bigint): bigint {
    const slot = this.#slotOf(space, name, nowNs)
    const times = this.#times
    // When a bucket is full again that is empty now.
    const emptyNs = nowNs + capacityNs
    for (;;) {
      const fullAt = Atomics.load(times, slot)
      // The limit has become lower since: the bucket is empty, and not more than that.
      if (fullAt > emptyNs) {
        Atomics.compareExchange(times, slot, fullAt, emptyNs)
        continue
      }
      const next = (fullAt > nowNs ? fullAt : nowNs) + intervalNs
      if (next > emptyNs) return next - emptyNs
      if (Atomics.compareExchange(times, slot, fullAt, next) === fullAt) return 0n
    }
  }

  /** Counts one of `name` below `space` at this time: 0, or when the window ends if its maximum is reached by now. */
  count(space: number, name: string, { lengthNs, max }: Window, nowNs: bigint): bigint {
    const slot = this.#slotOf(space, name, nowNs)
    const times = this.#times
    for (;;) {
      const found = Atomics.load(times, slot)
      const isOver = (found & ~countMask) <= nowNs
      const endNs = (isOver ? nowNs + lengthNs : found) & ~countMask
      const counted = isOver ? 0 : Number(found & countMask)
      const next = Math.min(counted + 1, max)
      if (Atomics.compareExchange(times, slot, found, endNs | BigInt(next)) === found) return next < max ? 0n : endNs
    }
  }

  /** Without counting: 0, or when the window ends if its maximum is reached. */
  exhaustedUntil(space: number, name: string, { max }: Window, nowNs: bigint): bigint {
    const { base, tag } = this.#placeOf(space, name)
    for (let slot = base; slot < base + waysPerSet; slot++) {
      if (Atomics.load(this.#tags, slot) !== tag) continue
      const found = Atomics.load(this.#times, slot)
      const endNs = found & ~countMask
      return endNs > nowNs && Number(found & countMask) >= max ? endNs : 0n
    }
    return 0n
  }

  #placeOf(space: number, name: string) {
    return {
      base: (hash(name, this.#setSeed ^ space) & (setCount - 1)) * waysPerSet,
      // 0 is an unused slot.
      tag: hash(name, this.#tagSeed ^ space) | 1,
    }
  }

  #slotOf(space: number, name: string, nowNs: bigint): number {
    const { base, tag } = this.#placeOf(space, name)
    const tags = this.#tags
    for (;;) {
      for (let slot = base; slot < base + waysPerSet; slot++) if (Atomics.load(tags, slot) === tag) return slot
      const slot = this.#fullest(base, nowNs)
      const old = Atomics.load(tags, slot)
      if (Atomics.compareExchange(tags, slot, old, tag) === old) {
        Atomics.store(this.#times, slot, 0n)
        return slot
      }
    }
  }

  #fullest(base: number, nowNs: bigint): number {
    let found = base
    let least = Atomics.load(this.#times, base)
    for (let slot = base + 1; least > nowNs && slot < base + waysPerSet; slot++) {
      const fullAt = Atomics.load(this.#times, slot)
      if (fullAt < least) [found, least] = [slot, fullAt]
    }
    return found
  }
}

/** MurmurHash3 of 32 bits over UTF-16 units; the seed keeps others from choosing names that meet. */
function hash(text: string, seed: number): number {
  let h = seed
  for (let i = 0; i < text.length; i++) {
    let k = Math.imul(text.charCodeAt(i), 0xcc9e2d51)
    k = Math.imul((k << 15) | (k >>> 17), 0x1b873593)
    h ^= k
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0
  }
  h ^= text.length
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
