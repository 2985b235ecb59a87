/**
 * What threads that write blobs of given ids and the thread that deletes blobs must know of each other, in shared memory. The cell of
 * a blob is a hash of its id: those that share one are only treated with more care than needed.
 *
 * - `dying`: how many blobs with that hash have lost their last reference and may be deleted. Whoever finishes one of them anew
 *   first has it taken off that list, by the thread that owns the drive.
 * - `written`: one with that hash was written in this run, with an id from an earlier one. It is no garbage, though nothing may
 *   reference it yet.
 * - `collecting`: one with that hash is being deleted as garbage right now. Whoever is to put a new one in its place waits.
 *
 * A writer sets `written` first and looks at `collecting` later; the collector sets `collecting` first and looks at `written` later.
 * So one of them sees the other.
 */
import { blobCell, blobCellCount } from './blob-cell.ts'

export const blobMarksBytes = blobCellCount * 4

const written = 1 << 30
const collecting = 1 << 29
const dyingMask = collecting - 1

export class BlobMarks {
  readonly #cells: Int32Array

  /** `memory` is shared where there are several threads. */
  constructor(memory: SharedArrayBuffer | ArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  onDying(id: string): void {
    Atomics.add(this.#cells, blobCell(id), 1)
  }

  /** It is deleted, or was taken off the list. */
  onSettled(id: string): void {
    Atomics.sub(this.#cells, blobCell(id), 1)
  }

  mayBeDying(id: string): boolean {
    return (Atomics.load(this.#cells, blobCell(id)) & dyingMask) !== 0
  }

  onWriting(id: string): void {
    Atomics.or(this.#cells, blobCell(id), written)
  }

  /** False when it has to stay. Otherwise `endCollect` must follow. For one thread, one at a time. */
  beginCollect(id: string): boolean {
    const cell = blobCell(id)
    if ((Atomics.or(this.#cells, cell, collecting) & written) === 0) return true
    Atomics.and(this.#cells, cell, ~collecting)
    return false
  }

  endCollect(id: string): void {
    Atomics.and(this.#cells, blobCell(id), ~collecting)
  }

  isCollecting(id: string): boolean {
    return (Atomics.load(this.#cells, blobCell(id)) & collecting) !== 0
  }
}
