/**
 * A bounded pool of aligned buffers for the blob writers of one thread. When it is empty, it asks the writer that has had a
 * buffer longest to write its bytes and release the buffer, so a slow client cannot block a fast one.
 */
import { allocateAligned } from './aligned-memory.ts'

/** Each WebAssembly memory reserves gigabytes of address space, so one slab is split into several buffers. */
const buffersPerSlab = 8

export interface BufferHolder {
  /** Asks for the buffer back soon, by `release`. A writer that is about to release it anyway may ignore this. */
  yieldBuffer(): void
}

export class BufferPool {
  readonly bufferBytes: number
  readonly #countMax: number
  readonly #free: Buffer[] = []
  readonly #waiting: { readonly holder: BufferHolder; readonly resolve: (buffer: Buffer) => void }[] = []
  /** In order of acquisition. */
  readonly #holders = new Map<Buffer, BufferHolder>()
  #allocated = 0

  constructor(bufferBytes: number, countMax: number) {
    this.bufferBytes = bufferBytes
    this.#countMax = countMax
  }

  acquire(holder: BufferHolder): Buffer | Promise<Buffer> {
    if (this.#free.length === 0) this.#grow()
    const buffer = this.#free.pop()
    if (buffer !== undefined) {
      this.#holders.set(buffer, holder)
      return buffer
    }
    return new Promise(resolve => {
      this.#waiting.push({ holder, resolve })
      const oldest = this.#holders.values().next()
      if (!oldest.done) oldest.value.yieldBuffer()
    })
  }

  release(buffer: Buffer): void {
    if (!this.#holders.delete(buffer)) throw new Error('a buffer was released that no writer has')
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#free.push(buffer)
      return
    }
    this.#holders.set(buffer, next.holder)
    next.resolve(buffer)
    if (this.#waiting.length > 0) this.#holders.values().next().value!.yieldBuffer()
  }

  #grow(): void {
    const count = Math.min(buffersPerSlab, this.#countMax - this.#allocated)
    if (count <= 0) return
    const slab = allocateAligned(this.bufferBytes * count)
    for (let i = 0; i < count; i++) this.#free.push(slab.subarray(i * this.bufferBytes, (i + 1) * this.bufferBytes))
    this.#allocated += count
  }
}
