/** The memory of a thread: entries by the id of their key, and blocks of bytes, within one budget. */
import { hash } from 'node:crypto'
import { Ghosts } from '../memory/ghosts.ts'
import { atOnceBytesMax, entryOverheadBytes } from '../memory/memory-tier.ts'
import { Sieve } from '../memory/sieve.ts'
import { type Entry, entryBytes } from './variant.ts'

export interface Memory {
  /** Counts as a use of it. */
  entry(id: string): Entry | undefined
  /** Without counting. */
  peek(id: string): Entry | undefined
  put(id: string, entry: Entry): boolean
  delete(id: string): void
  block(id: string): Buffer | undefined
  hasBlock(id: string): boolean
  /** Blocks of more than 64 KiB that would push out others enter at the second attempt. */
  putBlock(id: string, bytes: Buffer): boolean
  /** Ids of entries and blocks, from the oldest on; `peek` tells which are entries. */
  ids(): MapIterator<string>
  readonly usage: { readonly entries: number; readonly bytes: number; readonly evictions: number }
  readonly budgetBytes: number
}

/** Of parts that no other block has: 32 characters of one byte each. */
export const blockId = (...parts: readonly (string | number)[]): string => hash('sha256', parts.join('\n'), 'binary')

export function createMemory(budgetBytes: number): Memory {
  const all = new Sieve<Entry | Buffer>({ budgetBytes })
  const ghosts = new Ghosts()
  const entryOf = (found: Entry | Buffer | undefined) => (Buffer.isBuffer(found) ? undefined : found)
  const blockOf = (found: Entry | Buffer | undefined) => (Buffer.isBuffer(found) ? found : undefined)
  return {
    entry: id => entryOf(all.get(id)),
    peek: id => entryOf(all.peek(id)),
    put: (id, entry) => all.set(id, entry, entryBytes(entry)),
    delete: id => void all.delete(id),
    block: id => blockOf(all.get(id)),
    hasBlock: id => blockOf(all.peek(id)) !== undefined,
    putBlock(id, bytes) {
      const costBytes = bytes.length + entryOverheadBytes
      const isFree = all.bytes + costBytes <= budgetBytes
      if (!isFree && bytes.length > atOnceBytesMax && !ghosts.remember(Buffer.from(id, 'latin1'))) return false
      return all.set(id, bytes, costBytes)
    },
    ids: () => all.keys(),
    get usage() {
      return { entries: all.size, bytes: all.bytes, evictions: all.evictions }
    },
    budgetBytes,
  }
}
