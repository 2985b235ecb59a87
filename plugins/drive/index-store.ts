/**
 * The interface of the index: an ordered map on disk, derived from the journal. After a power loss it may be an older state.
 * `lmdb-index.ts` implements it; simulations use their own.
 */
export type IndexTable = 'records' | 'derived' | 'counters' | 'internal'

export const indexTables: readonly IndexTable[] = ['records', 'derived', 'counters', 'internal']

/** A walk over one snapshot. For synchronous use only: opened, walked and closed within one turn of the event loop. */
export interface IndexRange {
  /** Moves to the next entry, at first to the first one; false at the end. */
  next(): boolean
  readonly key: Buffer
  readonly value: Buffer
  close(): void
}

export type IndexWrite = (table: IndexTable, key: Uint8Array, value: Uint8Array | undefined) => void

export interface IndexStore {
  /**
   * Why the index cannot be used any more, neither read nor written: a write of its root has failed. Every method that needs it then
   * throws or rejects with this error. Undefined as long as it can be used.
   */
  readonly loss: Error | undefined
  /** Called once when the index is lost. */
  onLost: ((loss: Error) => void) | undefined
  /** A copy of the value. */
  get(table: IndexTable, key: Uint8Array): Buffer | undefined
  /** Entries with start <= key < end. */
  range(table: IndexTable, start: Uint8Array, end: Uint8Array): IndexRange
  /** Commits all writes of `fill` as one transaction; an undefined value removes the entry. Resolves when reads see them. */
  commit(fill: (write: IndexWrite) => void): Promise<void>
  /** Resolves when every commit so far survives a power loss. */
  flushed(): Promise<void>
  /** Makes the next read see the newest commit. */
  refresh(): void
  close(): Promise<void>
}
