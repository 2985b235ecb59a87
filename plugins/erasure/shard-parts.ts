/**
 * Parts of shards of some consecutive stripes of a blob, in the chunks in which the drives returned them. While no data shard is missing,
 * its units are given away where they lie: to join them would copy every byte. Otherwise they are copied into a `StripeWindow`, where missing
 * ones are computed. Filled and used by `SetBlobReader`.
 */
import type { BlobChunk } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import { type BodyLayout, piecesOf } from './layout.ts'
import { StripeWindow } from './stripe-window.ts'
import { windowPool } from './window-pool.ts'

/** A chunk of a drive with several users: what is read into it may belong to several chunks of the blob. The creator is the first. */
export class HeldChunk {
  readonly #chunk: BlobChunk
  #holders = 1

  constructor(chunk: BlobChunk) {
    this.#chunk = chunk
  }

  get bytes(): Buffer {
    return this.#chunk.bytes
  }

  hold(): void {
    this.#holders++
  }

  release(): void {
    if (this.#holders === 0) throw new Error('a chunk was released more often than it was held')
    if (--this.#holders === 0) this.#chunk.release()
  }
}

interface Part {
  readonly chunk: HeldChunk
  readonly from: number
  to: number
}

export class ShardParts {
  readonly #layout: BodyLayout
  readonly #firstStripe: number
  readonly #stripeCount: number
  /** By shard, without gaps from the first of the stripes on. */
  readonly #parts: Part[][] = []
  /** Mask of shards. */
  #present = 0
  /** Number of users; the creator is the first. */
  #holders = 1

  constructor(layout: BodyLayout, firstStripe: number, stripeCount: number) {
    this.#layout = layout
    this.#firstStripe = firstStripe
    this.#stripeCount = stripeCount
  }

  /** Bytes from…to of a chunk are next in this shard. */
  add(shard: number, chunk: HeldChunk, from: number, to: number): void {
    chunk.hold()
    this.#present |= 1 << shard
    const parts = this.#parts[shard]
    if (parts === undefined) this.#parts[shard] = [{ chunk, from, to }]
    else parts.push({ chunk, from, to })
  }

  get hasAllData(): boolean {
    return (~this.#present & this.#dataMask) === 0
  }

  get #dataMask(): number {
    return (1 << this.#layout.dataCount) - 1
  }

  /** Bytes start…end of the blob, which lie in these stripes; all data shards are there. */
  chunkOf(start: number, end: number): BlobChunk {
    this.#holders++
    return new Scattered(this, this.#piecesOf(start, end), this.#stripeCount * this.#stripeBytes)
  }

  get #stripeBytes(): number {
    return this.#layout.dataCount * this.#layout.unitBytes
  }

  #piecesOf(start: number, end: number): Buffer[] {
    const shardStart = this.#firstStripe * this.#layout.unitBytes
    const found: Part[] = []
    for (const { shard, shardOffset, length } of piecesOf(this.#layout, start, end)) {
      let at = shardOffset - shardStart
      let left = length
      for (const { chunk, from, to } of this.#parts[shard]!) {
        const count = Math.min(left, to - from - at)
        if (count > 0) {
          const before = found.at(-1)
          if (before?.chunk === chunk && before.to === from + at) before.to += count
          else found.push({ chunk, from: from + at, to: from + at + count })
          left -= count
        }
        at = Math.max(0, at - (to - from))
      }
    }
    return found.map(({ chunk, from, to }) => chunk.bytes.subarray(from, to))
  }

  /** The stripes with all of their data, in one place. The parts are released. */
  toWindow(code: ErasureCode): StripeWindow {
    const window = new StripeWindow(this.#layout, code, this.#firstStripe, this.#stripeCount)
    try {
      this.#parts.forEach((parts, shard) => {
        let at = 0
        for (const { chunk, from, to } of parts) {
          for (let next = from; next < to; ) {
            const count = window.copyIn(shard, at, chunk.bytes, next, to - next)
            next += count
            at += count
          }
        }
      })
      window.reconstruct(this.#present, this.#dataMask)
    } catch (error) {
      window.release()
      throw error
    } finally {
      this.release()
    }
    return window
  }

  /** The last user returns the memory to the drives: no view of it may be used afterwards. */
  release(): void {
    if (this.#holders === 0) throw new Error('parts of shards were released more often than they were held')
    if (--this.#holders > 0) return
    for (const parts of this.#parts) for (const { chunk } of parts ?? []) chunk.release()
  }
}

class Scattered implements BlobChunk {
  readonly pieces: readonly Buffer[]
  readonly #parts: ShardParts
  readonly #roomBytes: number
  #room: Buffer | undefined
  #bytes: Buffer | undefined
  #isReleased = false

  constructor(parts: ShardParts, pieces: readonly Buffer[], roomBytes: number) {
    this.#parts = parts
    this.pieces = pieces
    this.#roomBytes = roomBytes
    if (pieces.length === 1) this.#bytes = pieces[0]
  }

  get bytes(): Buffer {
    this.#bytes ??= this.#join()
    return this.#bytes
  }

  #join(): Buffer {
    const room = windowPool.acquire(this.#roomBytes)
    this.#room = room
    let length = 0
    for (const piece of this.pieces) length += piece.copy(room, length)
    return room.subarray(0, length)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    if (this.#room !== undefined) windowPool.release(this.#room)
    this.#parts.release()
  }
}
