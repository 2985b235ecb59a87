/**
 * Memory for windows of stripes that are read: what one reader gives back the next one takes. Making it anew for each window costs
 * more than filling it. One pool for each thread, however many sets there are.
 */

/** What is kept for the next ones, in bytes. What is given back beyond that is left to the garbage collector. */
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

  /** With whatever it had before. Never waits: what is under way is bounded by the readers. */
  acquire(length: number): Buffer {
    const free = this.#free.get(length)?.pop()
    if (free === undefined) return Buffer.allocUnsafeSlow(length)
    this.#keptBytes -= length
    return free
  }

  /** Takes what `lend` returned, once; nobody looks at it any more. */
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
