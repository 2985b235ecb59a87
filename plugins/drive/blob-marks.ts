/**
 * Shared memory that coordinates threads that write blobs of given ids with the storage thread, which deletes blobs. Each blob
 * has a cell by the hash of its id; blobs that share a cell are only treated with more care than needed.
 *
 * - `dying`: number of blobs with this hash that have lost their last reference and may be deleted. A writer that finishes one of
 *   them anew first has the storage thread take it off that list.
 * - `written`: a blob with this hash and an id from an earlier run was written in this run. It is no garbage, even if no record
 *   references it yet.
 * - `collecting`: a blob with this hash is being deleted as garbage. A writer that would replace it waits.
 *
 * Guarantee: clean-up never deletes a blob that is being written. The writer sets `written` before it reads `collecting`;
 * clean-up sets `collecting` before it reads `written`. So at least one of them sees the other.
 */
import { blobCell, blobCellCount } from './blob-cell.ts'

export const blobMarksBytes = blobCellCount * 4

const written = 1 << 30
const collecting = 1 << 29
const dyingMask = collecting - 1

export class BlobMarks {
  readonly #cells: Int32Array

  /** `memory` is shared when there are several threads. */
  constructor(memory: SharedArrayBuffer | ArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  onDying(id: string): void {
    Atomics.add(this.#cells, blobCell(id), 1)
  }

  /** The blob has been deleted, or was taken off the list. */
  onSettled(id: string): void {
    Atomics.sub(this.#cells, blobCell(id), 1)
  }

  mayBeDying(id: string): boolean {
    return (Atomics.load(this.#cells, blobCell(id)) & dyingMask) !== 0
  }

  onWriting(id: string): void {
    Atomics.or(this.#cells, blobCell(id), written)
  }

  /**
   * False when the blob must stay; otherwise the caller must call `endCollect`. Only for the storage thread, one blob at a time.
   */
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
