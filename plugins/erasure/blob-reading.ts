/**
 * Reads a range of a blob: from the drives with its data shards, or from any other drives with enough shards if some fail. A drive that
 * fails while reading is replaced by another one at the same position. Used for requests (`set-reading.ts`) and by `healing.ts`.
 */

import { anyBlobCheck } from 'svc/plugins/drive/api'
import type { BlobChunk, BlobReader, BlobRef } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { ErasureCode } from './codec/erasure-code.ts'
import { type BodyLayout, shardBytesOf } from './layout.ts'
import { idInSlot, isAboutShard, parityOfBlob, rotationOfBlob, type SetView, slotOfShard } from './set-view.ts'
import { HeldChunk, ShardParts } from './shard-parts.ts'
import type { StripeWindow } from './stripe-window.ts'

/** How much is read at a time (at least a stripe), and the longest chunk that `next` returns. */
const chunkBytesMax = 1024 * 1024

type Stripes = ShardParts | StripeWindow

interface Stream {
  readonly shard: number
  readonly slot: number
  readonly reader: BlobReader
  chunk: HeldChunk | undefined
  /** Bytes of the chunk that are used up. */
  used: number
}

export class SetBlobReader implements BlobReader {
  readonly #view: SetView
  readonly #ref: BlobRef
  readonly #layout: BodyLayout
  readonly #code: ErasureCode
  readonly #rotation: number
  readonly #end: number
  /** Next byte of the blob to read. */
  #at: number
  /** Mask of shards that have failed. */
  #failed = 0
  #streams: Stream[] = []
  /** Offset in the shards up to which the streams were read. */
  #shardAt = -1
  /** Read and not returned yet, from `#given` to `#at`. */
  #stripes: Stripes | undefined
  #given = 0
  #isClosed = false
  #isDamaged = false

  /** `without`: mask of shards that are known to be missing. */
  constructor(view: SetView, ref: BlobRef, start: number, length: number, without = 0) {
    if (start < 0 || length < 0 || start + length > ref.size) throw new RangeError('the range lies outside of the blob')
    this.#view = view
    this.#ref = ref
    const parityCount = parityOfBlob(view, ref)
    this.#code = view.codeOf(parityCount)
    this.#layout = { bodyBytes: ref.size, dataCount: view.slotCount - parityCount, unitBytes: view.unitBytes }
    this.#rotation = rotationOfBlob(ref.id, view.slotCount)
    this.#at = start
    this.#end = start + length
    this.#failed = without
  }

  async next(): Promise<BlobChunk | undefined> {
    if (this.#stripes === undefined && this.#at < this.#end && !this.#isClosed) {
      this.#given = this.#at
      const parts = await this.#readParts()
      // Closed since they were complete: `close` has not seen them.
      if (this.#isClosed) {
        parts?.release()
        return undefined
      }
      this.#stripes = parts === undefined || parts.hasAllData ? parts : parts.toWindow(this.#code)
    }
    const stripes = this.#stripes
    if (stripes === undefined || this.#isClosed) {
      this.close()
      return undefined
    }
    const from = this.#given
    this.#given = Math.min(this.#at, from + chunkBytesMax)
    const chunk = stripes.chunkOf(from, this.#given)
    if (this.#given === this.#at) this.#dropStripes()
    return chunk
  }

  /**
   * The next stripes with all of their data, including bytes of them outside of the range; the caller releases the window. Undefined at
   * the end, and after `close`. For callers that need shards rather than bytes of the blob; not to be mixed with `next`.
   */
  async readStripes(): Promise<StripeWindow | undefined> {
    return (await this.#readParts())?.toWindow(this.#code)
  }

  /** Parts of as many shards as are needed for the next stripes; the caller releases them. Undefined at the end, and after `close`. */
  async #readParts(): Promise<ShardParts | undefined> {
    if (this.#at >= this.#end || this.#isClosed) return undefined
    const { dataCount, unitBytes } = this.#layout
    const stripeBytes = dataCount * unitBytes
    const first = Math.floor(this.#at / stripeBytes)
    const count = Math.max(1, Math.floor(chunkBytesMax / stripeBytes))
    const last = Math.min(first + count, Math.ceil(this.#end / stripeBytes))
    const shardStart = first * unitBytes
    const length = Math.min(last * unitBytes, shardBytesOf(this.#layout)) - shardStart
    for (;;) {
      if (this.#shardAt !== shardStart || this.#streams.length === 0) await this.#openEnough(shardStart)
      if (this.#isClosed) return undefined
      const parts = new ShardParts(this.#layout, first, last - first)
      const outcomes = await Promise.all(this.#streams.map(stream => this.#take(stream, parts, length)))
      if (!outcomes.includes(false) && !this.#isClosed) {
        this.#shardAt = shardStart + length
        this.#at = Math.min(this.#end, last * stripeBytes)
        return parts
      }
      parts.release()
      if (this.#isClosed) return undefined
      // Other drives replace those that failed. All shards of these stripes are read again: once per failure.
      this.#closeStreams()
    }
  }

  /** Tries twice: this thread may not be attached yet to a drive that has just come back. */
  async #openEnough(start: number): Promise<void> {
    try {
      this.#openStreams(start)
    } catch (error) {
      await this.#view.ready()
      if (!this.#isClosed) this.#openStreams(start)
      else throw error
    }
  }

  #openStreams(start: number): void {
    this.#closeStreams()
    const { slotCount } = this.#view
    const { dataCount } = this.#layout
    const shardBytes = shardBytesOf(this.#layout)
    for (let shard = 0; shard < slotCount && this.#streams.length < dataCount; shard++) {
      if ((this.#failed & (1 << shard)) !== 0) continue
      const slot = slotOfShard(this.#view, shard, this.#rotation)
      const drive = this.#view.driveAt(slot)
      if (drive === undefined) continue
      const ref = { id: idInSlot(this.#ref.id, slot), size: shardBytes, check: anyBlobCheck }
      const reader = drive.readBlob(ref, start, shardBytes - start)
      this.#streams.push({ shard, slot, reader, chunk: undefined, used: 0 })
    }
    this.#shardAt = start
    if (this.#streams.length === dataCount) return
    const detail = `${this.#streams.length} of the ${dataCount} shards that are needed can be read.`
    this.#closeStreams()
    throw this.#isDamaged ? storageErrors.corrupt(detail) : storageErrors.unavailable(detail)
  }

  /** Adds the next bytes of a shard. False if they cannot be read, and after `close`. */
  async #take(stream: Stream, parts: ShardParts, length: number): Promise<boolean> {
    try {
      for (let at = 0; at < length; ) {
        if (stream.chunk === undefined) {
          const chunk = await stream.reader.next()
          if (this.#isClosed) {
            chunk?.release()
            return false
          }
          if (chunk === undefined) throw storageErrors.corrupt('The shard is too short.')
          stream.chunk = new HeldChunk(chunk)
          stream.used = 0
        }
        const { chunk, used } = stream
        const count = Math.min(length - at, chunk.bytes.length - used)
        parts.add(stream.shard, chunk, used, used + count)
        at += count
        stream.used += count
        if (stream.used === chunk.bytes.length) {
          chunk.release()
          stream.chunk = undefined
        }
      }
      return true
    } catch (error) {
      if (!this.#isClosed) this.#onFailed(stream, error)
      return false
    }
  }

  #onFailed({ shard, slot }: Stream, error: unknown): void {
    this.#failed |= 1 << shard
    if (isAboutShard(error)) {
      this.#isDamaged = true
      this.#view.onMissingShard({ slot, blobId: this.#ref.id })
    } else this.#view.onDriveError(slot, error)
  }

  #dropStripes(): void {
    this.#stripes?.release()
    this.#stripes = undefined
  }

  #closeStreams(): void {
    for (const { reader, chunk } of this.#streams) {
      chunk?.release()
      reader.close()
    }
    this.#streams = []
    this.#shardAt = -1
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#closeStreams()
    this.#dropStripes()
  }
}
