/**
 * Ordered walks over records or derived entries: the index's snapshot merged with the memtable. Used by scans, listings and
 * `first` of a transaction, in the storage thread and in workers.
 */
import type { BodyRef, Cursor } from 'svc/plugins/storage/api'
import { asBuffer } from './bytes.ts'
import type { ChangeSet } from './changes.ts'
import type { IndexRange, IndexStore } from './index-store.ts'
import { type MemtableWalk, walkLayers } from './memtable-walk.ts'
import { storedBody, storedValue, verifyStored } from './stored-record.ts'

/** Walks the index under these layers, given from oldest to newest. */
export function walk<T>(
  index: IndexStore,
  table: 'records' | 'derived',
  layers: readonly (ChangeSet | undefined)[],
  start: Uint8Array,
  end: Uint8Array,
  visit: (cursor: Cursor) => T,
): T {
  return walkOver(index, table, walkLayers(table, layers, start, end), start, end, visit)
}

/** As `walk`, with another walk over the memtable. */
export function walkOver<T>(
  index: IndexStore,
  table: 'records' | 'derived',
  memtable: MemtableWalk,
  start: Uint8Array,
  end: Uint8Array,
  visit: (cursor: Cursor) => T,
): T {
  const cursor = new MergedCursor(index, table, memtable, asBuffer(start), asBuffer(end))
  try {
    return visit(cursor)
  } finally {
    cursor.close()
  }
}

/** The source of the current entry. */
const side = { none: 0, index: 1, memtable: 2, both: 3 } as const

class MergedCursor implements Cursor {
  readonly #index: IndexStore
  readonly #table: 'records' | 'derived'
  readonly #memtable: MemtableWalk
  readonly #start: Buffer
  readonly #end: Buffer
  #range: IndexRange | undefined
  /** Whether `#range` stands on an entry that has not been returned yet. */
  #rangeHas = false
  /** The sides that the current entry has consumed. */
  #current: number = side.none
  #verified = false
  #stored: Buffer | undefined
  #isDone = false

  constructor(index: IndexStore, table: 'records' | 'derived', memtable: MemtableWalk, start: Buffer, end: Buffer) {
    this.#index = index
    this.#table = table
    this.#memtable = memtable
    this.#start = start
    this.#end = end
  }

  key!: Buffer

  get value(): Uint8Array {
    return this.#table === 'derived' ? this.#stored! : storedValue(this.#record())
  }

  get body(): BodyRef | undefined {
    return this.#table === 'derived' ? undefined : storedBody(this.#record())
  }

  #record(): Buffer {
    if (!this.#verified) {
      verifyStored(this.#stored!)
      this.#verified = true
    }
    return this.#stored!
  }

  seek(key: Uint8Array): boolean {
    const target = asBuffer(key)
    this.#closeRange()
    if (target.compare(this.#end) >= 0) {
      this.#isDone = true
      return false
    }
    this.#isDone = false
    const from = target.compare(this.#start) < 0 ? this.#start : target
    this.#openRange(from)
    this.#memtable.seek(from)
    this.#current = side.none
    return this.#settle()
  }

  next(): boolean {
    if (this.#isDone) return false
    if (this.#range === undefined && this.#current === side.none) this.#openRange(this.#start)
    else this.#step()
    return this.#settle()
  }

  #openRange(from: Buffer): void {
    // The package would walk an empty range into the next table.
    if (from.compare(this.#end) >= 0) return
    this.#range = this.#index.range(this.#table, from, this.#end)
    this.#rangeHas = this.#range.next()
  }

  #step(): void {
    if ((this.#current & side.index) !== 0) this.#rangeHas = this.#range!.next()
    if ((this.#current & side.memtable) !== 0) this.#memtable.next()
  }

  /** Moves to the smaller of the two next entries. Where both have the key, the memtable's is newer. */
  #settle(): boolean {
    const memtable = this.#memtable
    for (;;) {
      const { key } = memtable
      if (!this.#rangeHas && key === undefined) {
        this.#isDone = true
        return false
      }
      const order = key === undefined ? -1 : !this.#rangeHas ? 1 : this.#range!.key.compare(key)
      if (order < 0) {
        this.#current = side.index
        this.key = this.#range!.key
        this.#stored = this.#range!.value
        this.#verified = false
        return true
      }
      this.#current = order === 0 ? side.both : side.memtable
      if (memtable.value !== null) {
        this.key = key!
        this.#stored = asBuffer(memtable.value)
        this.#verified = true
        return true
      }
      this.#step()
    }
  }

  #closeRange(): void {
    this.#range?.close()
    this.#range = undefined
    this.#rangeHas = false
  }

  close(): void {
    this.#closeRange()
    this.#isDone = true
  }
}
