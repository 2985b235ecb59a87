/** The index: an ordered map on disk, derived from the journal, that may come back older after a power loss. */
export type IndexTable = 'records' | 'derived' | 'counters' | 'internal'

export const indexTables: readonly IndexTable[] = ['records', 'derived', 'counters', 'internal']

/** A walk over one snapshot. Only for synchronous use: opened, walked and closed before control returns to the event loop. */
export interface IndexRange {
  /** Moves to the next entry (the first at the beginning); false at the end. */
  next(): boolean
  readonly key: Buffer
  readonly value: Buffer
  close(): void
}

export type IndexWrite = (table: IndexTable, key: Uint8Array, value: Uint8Array | undefined) => void

export interface IndexStore {
  /** A copy of the value. */
  get(table: IndexTable, key: Uint8Array): Buffer | undefined
  /** Entries with start <= key < end. */
  range(table: IndexTable, start: Uint8Array, end: Uint8Array): IndexRange
  /** Commits all writes that `fill` makes, together. Resolves when reads see them. Undefined values remove. */
  commit(fill: (write: IndexWrite) => void): Promise<void>
  /** Resolves when every commit so far survives a power loss. */
  flushed(): Promise<void>
  /** Makes the next read see the newest commit. */
  refresh(): void
  close(): Promise<void>
}
