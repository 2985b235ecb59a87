/**
 * Shared memory through which a worker hands bodies to the storage thread: it copies a body in, the storage thread copies it
 * into the journal's buffer, and the worker takes the room back when the answer comes. Room is given in a ring, in order.
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
  /** Beginning of the oldest region that is in use. */
  #tail = 0

  constructor(memory: SharedArrayBuffer) {
    this.#bytes = Buffer.from(memory)
  }

  /** Copies a body in; undefined when there is no room just now. */
  place(body: Uint8Array): { readonly offset: number; readonly region: ArenaRegion } | undefined {
    const size = body.length
    let offset = this.#head
    if (this.#regions.length === 0) {
      offset = 0
      this.#tail = 0
      if (size > this.#bytes.length) return undefined
    } else if (offset >= this.#tail) {
      if (offset + size > this.#bytes.length) {
        // Strictly less: a head that meets the tail would mean empty.
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
