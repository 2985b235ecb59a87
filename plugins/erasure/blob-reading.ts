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
import { StripeWindow } from './stripe-window.ts'

/** How much is reconstructed at a time (at least a stripe), and the longest chunk that `next` returns. */
const chunkBytesMax = 1024 * 1024

interface Stream {
  readonly shard: number
  readonly slot: number
  readonly reader: BlobReader
  chunk: BlobChunk | undefined
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
  #window: StripeWindow | undefined
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
    if (this.#window === undefined && this.#at < this.#end && !this.#isClosed) {
      this.#given = this.#at
      const window = await this.readStripes()
      // Closed since the window was complete: `close` has not seen it.
      if (this.#isClosed) {
        window?.release()
        return undefined
      }
      this.#window = window
    }
    const window = this.#window
    if (window === undefined || this.#isClosed) {
      this.close()
      return undefined
    }
    const from = this.#given
    this.#given = Math.min(this.#at, from + chunkBytesMax)
    window.hold()
    if (this.#given === this.#at) this.#dropWindow()
    return chunkOf(window, window.bytesOf(from, this.#given))
  }

  /**
   * The next stripes with all of their data, including bytes of them outside of the range; the caller releases the window. Undefined at
   * the end, and after `close`. For callers that need shards rather than bytes of the blob; not to be mixed with `next`.
   */
  async readStripes(): Promise<StripeWindow | undefined> {
    if (this.#at >= this.#end || this.#isClosed) return undefined
    const { dataCount, unitBytes } = this.#layout
    const stripeBytes = dataCount * unitBytes
    const first = Math.floor(this.#at / stripeBytes)
    const count = Math.max(1, Math.floor(chunkBytesMax / stripeBytes))
    const last = Math.min(first + count, Math.ceil(this.#end / stripeBytes))
    const shardStart = first * unitBytes
    const shardEnd = Math.min(last * unitBytes, shardBytesOf(this.#layout))
    const window = new StripeWindow(this.#layout, this.#code, first, last - first)
    let isComplete = false
    try {
      isComplete = await this.#fill(window, shardStart, shardEnd - shardStart)
    } finally {
      if (!isComplete) window.release()
    }
    if (!isComplete) return undefined
    this.#at = Math.min(this.#end, last * stripeBytes)
    return window
  }

  /** False after `close`; nothing is written into the window after that. */
  async #fill(window: StripeWindow, start: number, length: number): Promise<boolean> {
    for (;;) {
      if (this.#isClosed) return false
      if (this.#shardAt !== start || this.#streams.length === 0) await this.#openEnough(start)
      if (this.#isClosed) return false
      const outcomes = await Promise.all(this.#streams.map(stream => this.#take(stream, window, length)))
      if (this.#isClosed) return false
      if (!outcomes.includes(false)) break
      // Other drives replace those that failed. All shards of this window are read again: once per failure.
      this.#closeStreams()
    }
    this.#shardAt = start + length
    let present = 0
    for (const { shard } of this.#streams) present |= 1 << shard
    window.reconstruct(present, (1 << this.#layout.dataCount) - 1)
    return true
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

  /** Copies the next bytes of a shard into the window. False if they cannot be read, and after `close`. */
  async #take(stream: Stream, window: StripeWindow, length: number): Promise<boolean> {
    try {
      for (let at = 0; at < length; ) {
        if (stream.chunk === undefined) {
          const chunk = await stream.reader.next()
          if (this.#isClosed) {
            chunk?.release()
            return false
          }
          if (chunk === undefined) throw storageErrors.corrupt('The shard is too short.')
          stream.chunk = chunk
          stream.used = 0
        }
        const { bytes } = stream.chunk
        const count = window.copyIn(
          stream.shard,
          at,
          bytes,
          stream.used,
          Math.min(length - at, bytes.length - stream.used),
        )
        at += count
        stream.used += count
        if (stream.used === bytes.length) {
          stream.chunk.release()
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

  #dropWindow(): void {
    this.#window?.release()
    this.#window = undefined
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
    this.#dropWindow()
  }
}

/** Keeps the window until it is released; chunks that are never released are left to the garbage collector. */
function chunkOf(window: StripeWindow, bytes: Buffer): BlobChunk {
  let isReleased = false
  return {
    bytes,
    release() {
      if (isReleased) return
      isReleased = true
      window.release()
    },
  }
}
