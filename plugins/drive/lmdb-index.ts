/**
 * The index in LMDB. What the engine relies on: a batch is one LMDB transaction (writes of one event-loop turn are); reads
 * go through one read transaction per turn, renewed after `refresh`; values are copied out because lmdb reuses its buffer.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { type Database, open, type RootDatabase } from 'lmdb'
import { type IndexRange, type IndexStore, type IndexTable, indexTables } from './index-store.ts'

/** Keys of 3 900 bytes need it: LMDB fits two entries on a page. */
const pageSize = 8192
/** Address space only. LMDB would grow by itself, but a map that moves while others read costs more than a large one. */
const mapBytes = 64 * 1024 ** 3

/** Out of the buffers that lmdb uses again. lmdb itself does it by `slice`, with a memory of its own for each: half of a walk of seeks. */
function copyOf(shared: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start)
  shared.copy(copy, 0, start, end)
  return copy
}

/** Keys and values are bytes as they are. */
const tableOptions = {
  keyEncoder: {
    writeKey(key: Uint8Array, target: Buffer, at: number): number {
      target.set(key, at)
      return at + key.length
    },
    readKey: copyOf,
  },
  encoder: {
    encode: (value: Uint8Array) => value,
    decode: (shared: Buffer, size = shared.length) => copyOf(shared, 0, size),
  },
  encoding: 'binary',
} as object

type Table = Database<Buffer, Uint8Array> & { lastSize: number; getBinaryFast(key: Uint8Array): Buffer | undefined }

export function openLmdbIndex(path: string, { readOnly = false } = {}): IndexStore {
  // lmdb makes the folder also for who only reads: where a drive was taken away, the next mount would not find it empty.
  if (readOnly) statSync(join(path, 'data.mdb'))
  const environment = openEnvironment(path, readOnly)
  const tables = Object.fromEntries(
    indexTables.map(name => [name, environment.openDB<Buffer, Uint8Array>(name, tableOptions)]),
  ) as unknown as Record<IndexTable, Table>
  const ranges = Object.fromEntries(indexTables.map(name => [name, new LmdbRanges(tables[name])])) as unknown as Record<
    IndexTable,
    LmdbRanges
  >
  const { records } = tables
  let closed = false
  // After a failed commit lmdb's promises for the sync and for closing never resolve, until a commit has succeeded again.
  let lastFailure: unknown
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
    range: (name, start, end) => ranges[name].begin(start, end),
    async commit(fill) {
      try {
        let shared: Promise<unknown> | undefined
        // Braces: lmdb treats a returned promise as a transaction that waits for it.
        await records.batch(() => {
          fill((name, key, value) => {
            const written = value === undefined ? tables[name].remove(key) : tables[name].put(key, value as Buffer)
            if (written === shared) return
            shared = written
            // When the commit fails this one rejects, too: the batch below says why.
            written.catch(ignore)
          })
        })
        lastFailure = undefined
      } catch (error) {
        lastFailure = await reasonOf(error)
        throw lastFailure
      }
      records.resetReadTxn()
    },
    async flushed() {
      if (lastFailure !== undefined) throw lastFailure
      await records.flushed
    },
    refresh: () => records.resetReadTxn(),
    async close() {
      if (closed) return
      closed = true
      // What was committed before is in the file; the journal has the rest.
      if (lastFailure === undefined) await environment.close()
    },
  }
}

function ignore(): void {}

interface CommitFailure {
  readonly commitError?: Promise<never>
}

/** What LMDB says is wrong, as an error of Node.js; lmdb hands it over as the rejection of another promise. */
async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as CommitFailure
  if (commitError === undefined) return error
  const reason = await Promise.race([commitError.catch((cause: unknown) => cause), patience()])
  if (!(reason instanceof Error)) return error
  const code = systemCode((reason as { code?: unknown }).code)
  return Object.assign(new Error(`The index could not be committed: ${reason.message}.`), { code })
}

function patience(): Promise<undefined> {
  return new Promise(resolve => {
    setTimeout(() => resolve(undefined), 1000)
  })
}

/** `ENOSPC` for 28, and so on. */
function systemCode(code: unknown): string | undefined {
  return typeof code === 'number' && code > 0 ? getSystemErrorMap().get(-code)?.[0] : undefined
}

function openEnvironment(path: string, readOnly: boolean): RootDatabase {
  const options = {
    path,
    readOnly,
    pageSize,
    overlappingSync: true,
    // A commit is one `batch`, which needs no batching by turns. That would make a promise which nobody can handle when it rejects.
    eventTurnBatching: false,
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

/**
 * Begins walks over one table. One iterable for all of them: making another costs as much as a fifth of finding the first entry, and
 * a listing with a delimiter begins a thousand walks. lmdb reads the options when a walk takes its first step, which is at once.
 */
class LmdbRanges {
  readonly #options: { start: Uint8Array; end: Uint8Array } = { start: Buffer.alloc(0), end: Buffer.alloc(0) }
  readonly #iterable: { iterate(): LmdbIterator }

  constructor(table: Table) {
    this.#iterable = table.getRange(this.#options) as unknown as { iterate(): LmdbIterator }
  }

  begin(start: Uint8Array, end: Uint8Array): LmdbRange {
    this.#options.start = start
    this.#options.end = end
    const iterator = this.#iterable.iterate()
    return new LmdbRange(iterator, iterator.next())
  }
}

class LmdbRange implements IndexRange {
  key!: Buffer
  value!: Buffer
  #iterator: LmdbIterator | undefined
  #first: ReturnType<LmdbIterator['next']> | undefined

  constructor(iterator: LmdbIterator, first: ReturnType<LmdbIterator['next']>) {
    this.#iterator = iterator
    this.#first = first
  }

  next(): boolean {
    if (this.#iterator === undefined) return false
    const step = this.#first ?? this.#iterator.next()
    this.#first = undefined
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
