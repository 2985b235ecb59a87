/**
 * Remembers recently requested ids by six of their bytes, not their data. A large block is admitted to memory at its second request, if at most
 * `withinBytes` of such blocks were requested since its first: a block that returns later would have been evicted by then, and would have evicted
 * others. A table of 65 536 cells of 64 bits (512 KiB); a newer id overwrites the older one in its cell. One id is taken for another once in 4
 * billion.
 */
const cellCount = 65_536
/** Unit of the clock: it wraps only after 256 TiB, when an old id may be remembered once more. */
const unitBytes = 64 * 1024

export class Ghosts {
  readonly #marks = new Uint32Array(cellCount)
  readonly #times = new Uint32Array(cellCount)
  readonly #within: number
  #askedBytes = 0

  constructor(withinBytes = Number.POSITIVE_INFINITY) {
    this.#within = withinBytes / unitBytes
  }

  /** Whether the id was remembered; from now on it is. `id`: at least 8 random bytes. `bytes`: length of the requested block. */
  remember(id: Buffer, bytes = 0): boolean {
    const cell = id.readUInt16LE(0)
    // 0 is an empty cell.
    const mark = id.readUInt32LE(4) || 1
    const now = Math.floor(this.#askedBytes / unitBytes) >>> 0
    this.#askedBytes += bytes
    const isKnown = this.#marks[cell] === mark && (now - (this.#times[cell] as number)) >>> 0 <= this.#within
    this.#marks[cell] = mark
    this.#times[cell] = now
    return isKnown
  }

  forget(id: Buffer): void {
    this.#marks[id.readUInt16LE(0)] = 0
  }
}
