/**
 * Shared memory through which a worker passes bodies to the storage thread. The worker copies a body in, the storage thread
 * copies it into the batch buffer, and the worker frees the region when the answer arrives. Regions are allocated as a ring, in
 * order.
 */
const arenaBytes = 4 * 1024 * 1024

export function createArenaMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(arenaBytes)
}

export interface ArenaRegion {
  readonly end: number
  isFree: boolean
}

export class BodyArena {
  readonly #bytes: Buffer
  readonly #regions: ArenaRegion[] = []
  #head = 0
  /** Start of the oldest region in use. */
  #tail = 0

  constructor(memory: SharedArrayBuffer) {
    this.#bytes = Buffer.from(memory)
  }

  /** Copies a body in. Undefined when the ring has no room at the moment. */
  place(body: Uint8Array): { readonly offset: number; readonly region: ArenaRegion } | undefined {
    const size = body.length
    let offset = this.#head
    if (this.#regions.length === 0) {
      offset = 0
      this.#tail = 0
      if (size > this.#bytes.length) return undefined
    } else if (offset >= this.#tail) {
      if (offset + size > this.#bytes.length) {
        // Strictly less, because equal head and tail mean empty.
        if (size >= this.#tail) return undefined
        offset = 0
      }
    } else if (offset + size >= this.#tail) return undefined
    this.#bytes.set(body, offset)
    this.#head = offset + size
    const region = { end: this.#head, isFree: false }
    this.#regions.push(region)
    return { offset, region }
  }

  free(region: ArenaRegion): void {
    region.isFree = true
    while (this.#regions.length > 0 && this.#regions[0]!.isFree) this.#tail = this.#regions.shift()!.end
  }
}
