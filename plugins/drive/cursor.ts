/**
 * Ordered walks over records or derived entries: the index's snapshot merged with the memtable. Used by scans, listings and
 * `first` of a transaction, in the storage thread and in workers.
 */
import type { BodyRef, Cursor } from 'svc/plugins/storage/api'
import { asBuffer, keyBytes, keyText } from './bytes.ts'
import type { ChangeSet } from './changes.ts'
import type { IndexRange, IndexStore } from './index-store.ts'
import { storedBody, storedValue, verifyStored } from './stored-record.ts'

export interface MemtableEntry {
  readonly key: Buffer
  /** Null for a deleted entry. */
  readonly value: Uint8Array | null
}

/** Walks the index under these layers, given from oldest to newest. */
export function walk<T>(
  index: IndexStore,
  table: 'records' | 'derived',
  layers: readonly (ChangeSet | undefined)[],
  start: Uint8Array,
  end: Uint8Array,
  visit: (cursor: Cursor) => T,
): T {
  return walkOver(index, table, collectMemtable(table, layers, start, end), start, end, visit)
}

/** As `walk`, with memtable entries that were collected before. */
export function walkOver<T>(
  index: IndexStore,
  table: 'records' | 'derived',
  memtable: readonly MemtableEntry[],
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

const noEntries: readonly MemtableEntry[] = []

/** The memtable entries of the range, in key order. */
export function collectMemtable(
  table: 'records' | 'derived',
  layers: readonly (ChangeSet | undefined)[],
  start: Uint8Array,
  end: Uint8Array,
): readonly MemtableEntry[] {
  if (layers.every(layer => layer === undefined || layer[table].size === 0)) return noEntries
  const from = keyText(start)
  const to = keyText(end)
  const found = new Map<string, Uint8Array | null>()
  for (const layer of layers) {
    if (layer === undefined) continue
    for (const [text, value] of layer[table]) if (text >= from && text < to) found.set(text, value)
  }
  if (found.size === 0) return noEntries
  return [...found.keys()].sort().map(text => ({ key: keyBytes(text), value: found.get(text)! }))
}

/** Entries back to back: u16 key size, u32 value size or `deletedSize`, key, value. */
export type PackedEntries = Uint8Array

const packedHeadBytes = 6
const deletedSize = 0xffffffff

export function packEntries(entries: readonly MemtableEntry[]): PackedEntries {
  let size = 0
  for (const { key, value } of entries) size += packedHeadBytes + key.length + (value?.length ?? 0)
  // Not from Buffer's pool, because it is sent to another thread.
  const packed = Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const { key, value } of entries) {
    packed.writeUInt16LE(key.length, at)
    packed.writeUInt32LE(value?.length ?? deletedSize, at + 2)
    at += packedHeadBytes
    packed.set(key, at)
    at += key.length
    if (value !== null) packed.set(value, at)
    at += value?.length ?? 0
  }
  return packed
}

export function unpackEntries(bytes: PackedEntries): MemtableEntry[] {
  const packed = asBuffer(bytes)
  const entries: MemtableEntry[] = []
  for (let at = 0; at < packed.length; ) {
    const keyEnd = at + packedHeadBytes + packed.readUInt16LE(at)
    const valueSize = packed.readUInt32LE(at + 2)
    const key = packed.subarray(at + packedHeadBytes, keyEnd)
    at = valueSize === deletedSize ? keyEnd : keyEnd + valueSize
    entries.push({ key, value: valueSize === deletedSize ? null : packed.subarray(keyEnd, at) })
  }
  return entries
}

/** The source of the current entry. */
const side = { none: 0, index: 1, memtable: 2, both: 3 } as const

class MergedCursor implements Cursor {
  readonly #index: IndexStore
  readonly #table: 'records' | 'derived'
  readonly #memtable: readonly MemtableEntry[]
  readonly #start: Buffer
  readonly #end: Buffer
  #range: IndexRange | undefined
  /** Whether `#range` stands on an entry that has not been returned yet. */
  #rangeHas = false
  #memtableAt = 0
  /** The sides that the current entry has consumed. */
  #current: number = side.none
  #verified = false
  #stored: Buffer | undefined
  #isDone = false

  constructor(
    index: IndexStore,
    table: 'records' | 'derived',
    memtable: readonly MemtableEntry[],
    start: Buffer,
    end: Buffer,
  ) {
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
    this.#memtableAt = lowerBound(this.#memtable, from)
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
    if ((this.#current & side.memtable) !== 0) this.#memtableAt++
  }

  /** Moves to the smaller of the two next entries. Where both have the key, the memtable's is newer. */
  #settle(): boolean {
    for (;;) {
      const entry = this.#memtable[this.#memtableAt]
      if (!this.#rangeHas && entry === undefined) {
        this.#isDone = true
        return false
      }
      const order = entry === undefined ? -1 : !this.#rangeHas ? 1 : this.#range!.key.compare(entry.key)
      if (order < 0) {
        this.#current = side.index
        this.key = this.#range!.key
        this.#stored = this.#range!.value
        this.#verified = false
        return true
      }
      this.#current = order === 0 ? side.both : side.memtable
      if (entry!.value !== null) {
        this.key = entry!.key
        this.#stored = asBuffer(entry!.value)
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

function lowerBound(entries: readonly MemtableEntry[], key: Buffer): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (entries[middle]!.key.compare(key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
