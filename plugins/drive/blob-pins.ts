/**
 * Pins: which blobs are being read. Each thread counts its own readers in a table in shared memory, which the storage thread
 * reads before it deletes a blob. So an unreferenced blob stays while anybody reads it, and pinning costs no message. Each blob
 * has a cell by the hash of its id; blobs that share a cell only wait for each other. The table of a thread that exits is
 * dropped, and its pins with it.
 */
import type { BlobRef } from 'svc/plugins/storage/api'
import { blobCell, blobCellCount } from './blob-cell.ts'

export const blobPinsBytes = blobCellCount * 4

export class BlobPins {
  readonly #cells: Int32Array

  /** `memory` is shared unless the pins belong to the storage thread. */
  constructor(memory: SharedArrayBuffer | ArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** Pins these blobs. Returns the function that unpins them; further calls of it do nothing. */
  pin(blobs: readonly BlobRef[]): () => void {
    for (let i = 0; i < blobs.length; i++) Atomics.add(this.#cells, blobCell(blobs[i]!.id), 1)
    let isPinned = true
    return () => {
      if (!isPinned) return
      isPinned = false
      for (let i = 0; i < blobs.length; i++) Atomics.sub(this.#cells, blobCell(blobs[i]!.id), 1)
    }
  }

  has(id: string): boolean {
    return Atomics.load(this.#cells, blobCell(id)) !== 0
  }
}
