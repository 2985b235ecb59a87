/**
 * Some consecutive stripes of a blob in memory. Data units are copied to their places in the blob, and missing ones are computed in place;
 * parity units are in buffers beside it. Filled by `ShardParts`, used by `SetBlobReader` and `Healing`.
 */
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import { type BodyLayout, shardUnitOf } from './layout.ts'
import { windowPool } from './window-pool.ts'

export class StripeWindow {
  readonly firstStripe: number
  readonly stripeCount: number
  readonly #layout: BodyLayout
  readonly #code: ErasureCode
  readonly #stripeBytes: number
  readonly #bytes: Buffer
  /** By shard; allocated with the first unit. */
  readonly #parity: (Buffer | undefined)[]
  /** Number of users; the creator is the first. */
  #holders = 1

  constructor(layout: BodyLayout, code: ErasureCode, firstStripe: number, stripeCount: number) {
    this.firstStripe = firstStripe
    this.stripeCount = stripeCount
    this.#layout = layout
    this.#code = code
    this.#stripeBytes = layout.dataCount * layout.unitBytes
    this.#bytes = windowPool.acquire(stripeCount * this.#stripeBytes)
    this.#parity = new Array(code.shardCount).fill(undefined)
  }

  /** `stripe` counts from the first one of the window. */
  #unitOf(stripe: number): number {
    const start = (this.firstStripe + stripe) * this.#stripeBytes
    return shardUnitOf(Math.min(this.#stripeBytes, this.#layout.bodyBytes - start), this.#layout.dataCount)
  }

  /** Copies a shard's bytes to offset `at` from the window's start, up to the end of a unit. Returns how many. */
  copyIn(shard: number, at: number, source: Buffer, start: number, countMax: number): number {
    const { unitBytes } = this.#layout
    const stripe = Math.floor(at / unitBytes)
    const within = at - stripe * unitBytes
    const unit = this.unitAt(shard, stripe)
    const count = Math.min(countMax, unit.length - within)
    source.copy(unit, within, start, start + count)
    return count
  }

  /** A view of a shard's unit, valid while the window is held. A parity unit that was not read has arbitrary bytes. */
  unitAt(shard: number, stripe: number): Buffer {
    const { dataCount, unitBytes } = this.#layout
    const unit = this.#unitOf(stripe)
    if (shard < dataCount) {
      const start = stripe * this.#stripeBytes + shard * unit
      return this.#bytes.subarray(start, start + unit)
    }
    this.#parity[shard] ??= windowPool.acquire(this.stripeCount * unitBytes)
    return this.#parity[shard].subarray(stripe * unitBytes, stripe * unitBytes + unit)
  }

  /** Computes the shards of the mask `wanted` that are not in `present`. */
  reconstruct(present: number, wanted: number): void {
    const code = this.#code
    if ((wanted & ~present) === 0) return
    const shards: (Buffer | undefined)[] = new Array(code.shardCount).fill(undefined)
    for (let stripe = 0; stripe < this.stripeCount; stripe++) {
      for (let shard = 0; shard < code.shardCount; shard++) {
        if (((present | wanted) & (1 << shard)) !== 0) shards[shard] = this.unitAt(shard, stripe)
      }
      code.reconstruct(shards, present, wanted)
    }
  }

  /** Bytes start…end of the blob, which lie in these stripes. Chunks that are never released are left to the garbage collector. */
  chunkOf(start: number, end: number): BlobChunk {
    const from = this.firstStripe * this.#stripeBytes
    let isReleased = false
    this.#holders++
    return {
      bytes: this.#bytes.subarray(start - from, end - from),
      release: () => {
        if (isReleased) return
        isReleased = true
        this.release()
      },
    }
  }

  /** The last user returns the memory to the pool: no view of it may be used afterwards. */
  release(): void {
    if (this.#holders === 0) throw new Error('a stripe window was released more often than it was held')
    if (--this.#holders > 0) return
    windowPool.release(this.#bytes)
    for (const buffer of this.#parity) if (buffer !== undefined) windowPool.release(buffer)
  }
}
