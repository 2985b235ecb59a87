/**
 * The index in LMDB. What the engine relies on: a batch is one LMDB transaction (writes of one event-loop turn are); reads
 * go through one read transaction per turn, renewed after `refresh`; values are copied out because lmdb reuses its buffer.
 */
import { rm } from 'node:fs/promises'
import { type Database, open, type RootDatabase } from 'lmdb'
import { type IndexRange, type IndexStore, type IndexTable, indexTables } from './index-store.ts'

/** Keys of 3 900 bytes need it: LMDB fits two entries on a page. */
const pageSize = 8192
/** Address space only. LMDB would grow by itself, but a map that moves while others read costs more than a large one. */
const mapBytes = 64 * 1024 ** 3

type Table = Database<Buffer, Uint8Array> & { lastSize: number; getBinaryFast(key: Uint8Array): Buffer | undefined }

export function openLmdbIndex(path: string): IndexStore {
  const environment = openEnvironment(path)
  const tables = Object.fromEntries(
    indexTables.map(name => [name, environment.openDB({ name, keyEncoding: 'binary', encoding: 'binary' })]),
  ) as unknown as Record<IndexTable, Table>
  const { records } = tables
  let closed = false
  return {
    get(name, key) {
      const table = tables[name]
      const shared = table.getBinaryFast(key)
      if (shared === undefined) return undefined
      const size = table.lastSize
      const copy = Buffer.allocUnsafe(size)
      if (shared.length === size && !Buffer.isBuffer(shared)) copy.set(shared)
      else shared.copy(copy, 0, 0, size)
      return copy
    },
    range: (name, start, end) => new LmdbRange(tables[name], start, end),
    async commit(fill) {
      // Braces: lmdb treats a returned promise as a transaction that waits for it.
      await records.batch(() => {
        fill((name, key, value) => {
          if (value === undefined) tables[name].remove(key)
          else tables[name].put(key, value as Buffer)
        })
      })
      records.resetReadTxn()
    },
    async flushed() {
      await records.flushed
    },
    refresh: () => records.resetReadTxn(),
    async close() {
      if (closed) return
      closed = true
      await environment.close()
    },
  }
}

/** Removes an index that cannot be used; it is rebuilt from the journal. */
export async function removeLmdbIndex(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}

function openEnvironment(path: string): RootDatabase {
  const options = {
    path,
    pageSize,
    overlappingSync: true,
    keyEncoding: 'binary',
    encoding: 'binary',
    maxDbs: 8,
  } as const
  try {
    return open({ ...options, mapSize: mapBytes, maxReaders: 256 })
  } catch (error) {
    // Where address space is rationed (ulimit -v) the small map that grows must do.
    if (!/memory|ENOMEM/i.test(String(error))) throw error
    return open({ ...options, maxReaders: 256 })
  }
}

interface LmdbIterator {
  next(): { done?: boolean; value?: { key: Buffer; value: Buffer } }
  return(): void
}

class LmdbRange implements IndexRange {
  key!: Buffer
  value!: Buffer
  #iterator: LmdbIterator | undefined

  constructor(table: Table, start: Uint8Array, end: Uint8Array) {
    this.#iterator = (table.getRange({ start, end }) as unknown as { iterate(): LmdbIterator }).iterate()
  }

  next(): boolean {
    if (this.#iterator === undefined) return false
    const step = this.#iterator.next()
    if (step.done) {
      this.#iterator = undefined
      return false
    }
    this.key = step.value!.key
    this.value = step.value!.value
    return true
  }

  close(): void {
    this.#iterator?.return()
    this.#iterator = undefined
  }
}
