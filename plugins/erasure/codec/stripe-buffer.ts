/**
 * The shards of one stripe while it is filled, in memory that the codec computes in and drives can write from: a body is copied only
 * once, into it. The data shards are consecutive, so a body is copied as it comes, and the last, shorter stripe of a body is cut into
 * shards in place (see layout.ts). Pooled by `StripePool`, filled by `SetBlobWriter`.
 */
import { shardUnitOf } from '../layout.ts'
import type { ErasureCode } from './erasure-code.ts'

export class StripeBuffer {
  #code: ErasureCode
  readonly #unitBytes: number
  readonly #bytes: Buffer
  #capacity: number
  /** Views of a full stripe; made once for a code. */
  #fullShards: readonly Buffer[]
  #filledBytes = 0

  private constructor(code: ErasureCode, unitBytes: number, bytes: Buffer) {
    this.#code = code
    this.#unitBytes = unitBytes
    this.#bytes = bytes
    this.#capacity = code.dataCount * unitBytes
    this.#fullShards = this.#shardsOf(unitBytes)
  }

  /** Undefined if the codec's memory has no room now. Shards of full stripes are page-aligned if the unit is a multiple of 4 KiB. */
  static create(code: ErasureCode, unitBytes: number): StripeBuffer | undefined {
    const bytes = code.memory.allocate(code.shardCount * unitBytes)
    return bytes && new StripeBuffer(code, unitBytes, bytes)
  }

  /** Prepares for stripes of another code with as many shards. To be called while it is empty. */
  use(code: ErasureCode): void {
    if (code === this.#code) return
    if (code.shardCount !== this.#code.shardCount || code.memory !== this.#code.memory || this.#filledBytes > 0) {
      throw new Error('the memory of a stripe was given to a code that it is not for')
    }
    this.#code = code
    this.#capacity = code.dataCount * this.#unitBytes
    this.#fullShards = this.#shardsOf(this.#unitBytes)
  }

  get filledBytes(): number {
    return this.#filledBytes
  }

  get isFull(): boolean {
    return this.#filledBytes === this.#capacity
  }

  /** Copies from `chunk`, beginning at `from`, as much as fits. Returns how much that was. */
  append(chunk: Uint8Array, from = 0): number {
    const count = Math.min(chunk.length - from, this.#capacity - this.#filledBytes)
    this.#bytes.set(
      from === 0 && count === chunk.length ? chunk : chunk.subarray(from, from + count),
      this.#filledBytes,
    )
    this.#filledBytes += count
    return count
  }

  /** Ends the stripe: its shards, parity included, valid until `clear`. A stripe that is not full is the last one of its body. */
  finish(): readonly Buffer[] {
    const { dataCount } = this.#code
    const unit = this.isFull ? this.#unitBytes : shardUnitOf(this.#filledBytes, dataCount)
    const shards = unit === this.#unitBytes ? this.#fullShards : this.#shardsOf(unit)
    this.#bytes.fill(0, this.#filledBytes, dataCount * unit)
    this.#code.encode(shards)
    return shards
  }

  clear(): void {
    this.#filledBytes = 0
  }

  /** Returns the memory to the codec. */
  release(): void {
    this.#code.memory.release(this.#bytes)
  }

  #shardsOf(unit: number): Buffer[] {
    const { dataCount, shardCount } = this.#code
    return Array.from({ length: shardCount }, (_, shard) => {
      const start = shard < dataCount ? shard * unit : this.#capacity + (shard - dataCount) * this.#unitBytes
      return this.#bytes.subarray(start, start + unit)
    })
  }
}
