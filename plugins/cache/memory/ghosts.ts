/**
 * Remembers what was asked for lately, by hash, without keeping it: large blocks enter the memory at their second request. A table of
 * 65 536 cells of 32 bits (256 KiB), each of which the newest id overwrites: it forgets, and takes one id for another once in 4 billion.
 */
const cellCount = 65_536

export class Ghosts {
  readonly #cells = new Uint32Array(cellCount)

  /** Whether the id, of at least 8 random bytes, was remembered; from now on it is. */
  remember(id: Buffer): boolean {
    const cell = id.readUInt16LE(0)
    // 0 is an empty cell.
    const mark = id.readUInt32LE(4) || 1
    if (this.#cells[cell] === mark) return true
    this.#cells[cell] = mark
    return false
  }

  forget(id: Buffer): void {
    this.#cells[id.readUInt16LE(0)] = 0
  }
}
