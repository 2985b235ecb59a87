/**
 * Pool of memory for windows of stripes that are read: allocating it for each window costs more than filling it. One pool for each thread,
 * whatever the number of sets. Used by `StripeWindow`.
 */

/** Most memory that the pool keeps, in bytes. Further buffers are left to the garbage collector. */
const keptBytesMax = 32 * 1024 * 1024

export class WindowPool {
  /** By length. */
  readonly #free = new Map<number, Buffer[]>()
  readonly #keptBytesMax: number
  #keptBytes = 0

  constructor(bytesMax = keptBytesMax) {
    this.#keptBytesMax = bytesMax
  }

  get keptBytes(): number {
    return this.#keptBytes
  }

  /** Memory with arbitrary content. Never waits: the readers bound how much is in use. */
  acquire(length: number): Buffer {
    const free = this.#free.get(length)?.pop()
    if (free === undefined) return Buffer.allocUnsafeSlow(length)
    this.#keptBytes -= length
    return free
  }

  /** Takes back a buffer that `acquire` returned, once; it must not be used any more. */
  release(buffer: Buffer): void {
    const { length } = buffer
    if (this.#keptBytes + length > this.#keptBytesMax) return
    const free = this.#free.get(length)
    if (free === undefined) this.#free.set(length, [buffer])
    else free.push(buffer)
    this.#keptBytes += length
  }
}

export const windowPool = new WindowPool()
