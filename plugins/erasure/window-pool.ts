/**
 * Pool of memory for windows of stripes that are read: allocating it for each window costs more than filling it. One pool for each thread,
 * whatever the number of sets. Used by `StripeWindow`.
 */
import { FreeBuffers } from 'svc/plugins/drive/api'

/** Most memory that the pool keeps, in bytes. Further buffers are left to the garbage collector. */
const keptBytesMax = 32 * 1024 * 1024

export class WindowPool {
  readonly #free = new FreeBuffers()
  readonly #keptBytesMax: number
  #lentBytes = 0

  constructor(bytesMax = keptBytesMax) {
    this.#keptBytesMax = bytesMax
  }

  get keptBytes(): number {
    return this.#free.bytes
  }

  /** Bytes of buffers that were acquired and not released. */
  get lentBytes(): number {
    return this.#lentBytes
  }

  /** Memory with arbitrary content. Never waits: the readers bound how much is in use. */
  acquire(length: number): Buffer {
    this.#lentBytes += length
    return this.#free.take(length) ?? Buffer.allocUnsafeSlow(length)
  }

  /** Takes back a buffer that `acquire` returned, once; it must not be used any more. */
  release(buffer: Buffer): void {
    this.#lentBytes -= buffer.length
    this.#free.keep(buffer, this.#keptBytesMax)
  }
}

export const windowPool = new WindowPool()
