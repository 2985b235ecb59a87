/**
 * Shared memory through which the storage thread informs the workers without messages:
 *
 * - per hash of a key, the number of memtable records with that hash. Zero means that the index is right for this key.
 * - the number of memtable records.
 * - the epoch: the number of checkpoints. A reader whose snapshot is of an earlier epoch renews it.
 * - the budget of free space.
 * - whether the drive has been closed, after which the index may be outdated.
 *
 * Guarantee: a worker never misses an acknowledged change. The storage thread increments a key's count before it acknowledges the
 * change. It decrements the count only after it has raised the epoch, and raises the epoch only after the index has the change. A
 * reader loads the count first and the epoch second: if the count is zero because it was decremented, the reader also sees the
 * epoch that makes it renew its snapshot.
 */

import { spaceCellCount } from './space.ts'
import type { MemtableObserver } from './state.ts'

const cell = { epoch: 0, memtable: 1, space: 2, closed: 2 + spaceCellCount } as const
const headCells = 16
const tableBits = 16
const tableCells = 1 << tableBits

export const sharedStateBytes = (headCells + tableCells) * 4

export class SharedState implements MemtableObserver {
  readonly #cells: Int32Array
  readonly spaceCells: Int32Array

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
    this.spaceCells = this.#cells.subarray(cell.space, cell.space + spaceCellCount)
  }

  onInserted(key: string): void {
    Atomics.add(this.#cells, hashOf(key), 1)
    Atomics.add(this.#cells, cell.memtable, 1)
  }

  onIndexed(keys: Iterable<string>): void {
    Atomics.add(this.#cells, cell.epoch, 1)
    let count = 0
    for (const key of keys) {
      Atomics.sub(this.#cells, hashOf(key), 1)
      count++
    }
    Atomics.sub(this.#cells, cell.memtable, count)
  }

  /** Whether the memtable may have a newer state of this key than the index. */
  mayBeInMemtable(key: string): boolean {
    return Atomics.load(this.#cells, hashOf(key)) !== 0
  }

  get hasMemtableRecords(): boolean {
    return Atomics.load(this.#cells, cell.memtable) !== 0
  }

  /** Permanent: a drive that is opened again gets new memory. */
  close(): void {
    Atomics.store(this.#cells, cell.closed, 1)
  }

  get isClosed(): boolean {
    return Atomics.load(this.#cells, cell.closed) !== 0
  }

  get epoch(): number {
    return Atomics.load(this.#cells, cell.epoch)
  }
}

/** FNV-1a, folded; the index of a key's cell. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  return headCells + ((hash ^ (hash >>> 15)) & (tableCells - 1))
}
