/**
 * What the thread that owns the drive tells the others without messages, in shared memory:
 *
 * - per hash of a key, how many records with that hash the memtable has. Zero means: what the index says is right.
 * - how many records the memtable has in all.
 * - the epoch: how many checkpoints the index has had. A reader whose snapshot is from an earlier epoch renews it.
 * - the budget of free space.
 * - whether the drive was closed: what the index says may be old then.
 *
 * Order makes it right. The owner counts a key up before it acknowledges the change, and counts it down only after it has
 * raised the epoch, which it does after the index has the change. A reader looks at the count first and at the epoch second: if
 * it finds zero because the key was counted down, it also finds the epoch that tells it to renew its snapshot.
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

  /** Whether the index may lack the newest state of this key. */
  mayBeInMemtable(key: string): boolean {
    return Atomics.load(this.#cells, hashOf(key)) !== 0
  }

  get hasMemtableRecords(): boolean {
    return Atomics.load(this.#cells, cell.memtable) !== 0
  }

  /** For good: a drive that is opened again has other memory. */
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
