/**
 * Which blobs are being read. Each thread counts its own readers in a table that the storage thread can look into, so that a
 * blob that has lost its last reference stays as long as somebody needs it, and taking hold of one costs no message. The cell of a
 * blob is a hash of its id: blobs that share one only wait for each other. The table of a thread that ends goes with it.
 */
import type { BlobRef } from 'svc/plugins/storage/api'
import { blobCell, blobCellCount } from './blob-cell.ts'

export const blobPinsBytes = blobCellCount * 4

export class BlobPins {
  readonly #cells: Int32Array

  /** `memory` is shared where the holder is not the storage thread. */
  constructor(memory: SharedArrayBuffer | ArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** Returns what lets go of them again, once. */
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
