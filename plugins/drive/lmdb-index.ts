/**
 * The index in LMDB, through the package `lmdb`. The engine relies on:
 *
 * - A `commit` is one LMDB transaction.
 * - Reads of one turn of the event loop share a read transaction, which `refresh` renews.
 * - Returned values are copies, because the package reuses its buffer.
 *
 * After a failed write of a root page LMDB refuses everything (MDB_PANIC), in all threads, until all of them have closed the
 * environment. Nothing is committed after that: the package would keep its lock on writers for ever, and its `close` and its handler of
 * the end of the process would wait for it.
 */
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { type Database, open, type RootDatabase } from 'lmdb'
import { positionKey } from './index-position.ts'
import { type IndexRange, type IndexStore, type IndexTable, indexTables } from './index-store.ts'

/** LMDB fits at least two entries on a page, so keys of 3,900 bytes need pages of this size. */
const pageSize = 8192
/** Address space only. LMDB could grow by itself, but moving the map while readers use it costs more than a large map. */
const mapBytes = 64 * 1024 ** 3

/**
 * Copies out of the buffer that the package reuses. Its own `slice` gives each copy an allocation of its own, which was half the
 * cost of a walk of seeks.
 */
function copyOf(shared: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start)
  shared.copy(copy, 0, start, end)
  return copy
}

/** Keys and values are raw bytes. */
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

export interface LmdbIndexOptions {
  readonly readOnly?: boolean
  /** Another thread of this process has it open. */
  readonly isShared?: boolean
  /** Makes the error of an index that is lost. The process that checks an index knows no catalogues of errors. */
  lossOf?(message: string, cause: unknown): Error
}

export function openLmdbIndex(
  path: string,
  { readOnly = false, isShared = false, lossOf = plainLoss }: LmdbIndexOptions = {},
): IndexStore {
  // The package creates the folder even for a reader. At an unmounted drive, the next mount would then find its mount point not
  // empty.
  if (readOnly) statSync(join(path, 'data.mdb'))
  // On a file system that has become read-only the package does not find the environment of the other thread, by its lock file: it opens one of
  // its own without a lock, and never closes it.
  if (isShared) accessSync(join(path, 'lock.mdb'), constants.W_OK)
  const environment = openEnvironment(path, readOnly)
  let tables: Record<IndexTable, Table>
  try {
    tables = Object.fromEntries(
      indexTables.map(name => [name, environment.openDB<Buffer, Uint8Array>(name, tableOptions)]),
    ) as unknown as Record<IndexTable, Table>
  } catch (error) {
    // Left open, it would be found by the next attempt of this process.
    void closeNow(environment)
    throw isPanic(error) ? lossOf(lostMessage, error) : error
  }
  const ranges = Object.fromEntries(indexTables.map(name => [name, new LmdbRanges(tables[name])])) as unknown as Record<
    IndexTable,
    LmdbRanges
  >
  const { records } = tables
  let closed = false
  // After a failed commit, the package's promises for `flushed` and `close` never settle until a commit succeeds.
  let lastFailure: unknown
  const explain = (error: unknown): unknown => {
    if (!isPanic(error)) return error
    if (store.loss === undefined) {
      store.loss = lossOf(lostMessage, lastFailure ?? error)
      store.onLost?.(store.loss)
    }
    return store.loss
  }
  const store: { -readonly [K in keyof IndexStore]: IndexStore[K] } = {
    loss: undefined,
    onLost: undefined,
    get(name, key) {
      const table = tables[name]
      let shared: Buffer | undefined
      try {
        shared = table.getBinaryFast(key)
      } catch (error) {
        throw explain(error)
      }
      if (shared === undefined) return undefined
      const size = table.lastSize
      const copy = Buffer.allocUnsafe(size)
      if (shared.length === size && !Buffer.isBuffer(shared)) copy.set(shared)
      else shared.copy(copy, 0, 0, size)
      return copy
    },
    range(name, start, end) {
      try {
        return ranges[name].begin(start, end)
      } catch (error) {
        throw explain(error)
      }
    },
    async commit(fill) {
      if (store.loss !== undefined) throw store.loss
      try {
        let shared: Promise<unknown> | undefined
        // Braces, because the package waits for a returned promise inside the transaction.
        await records.batch(() => {
          fill((name, key, value) => {
            const written = value === undefined ? tables[name].remove(key) : tables[name].put(key, value as Buffer)
            if (written === shared) return
            shared = written
            // This promise rejects together with the batch, whose error is the one reported.
            written.catch(ignore)
          })
        })
        lastFailure = undefined
      } catch (error) {
        lastFailure = await reasonOf(error)
        records.resetReadTxn()
        // Reading shows whether anything can be committed again.
        store.get('internal', positionKey)
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
      // Committed data is in the file, and the journal has the rest. What stays open keeps the file system from being unmounted, and a lost
      // index from being opened again.
      if (store.loss === undefined && lastFailure === undefined) await environment.close()
      else await closeNow(environment)
    },
  }
  return store
}

const plainLoss = (message: string, cause: unknown) => new Error(message, { cause })
const isPanic = (error: unknown) => /MDB_PANIC/.test((error as Error).message)
const lastSyncMs = 2000
const lostMessage = 'The index of the drive can be neither read nor written any more: a write of its root has failed.'

/** Without waiting for promises of the package, which do not settle after a failed commit. Native code may still be in its last sync, and would crash. */
async function closeNow(environment: RootDatabase): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, lastSyncMs))
  Object.assign(environment, { _endWrites: undefined })
  await environment.close()
}

function ignore(): void {}

interface CommitFailure {
  readonly commitError?: Promise<never>
}

/** The reason for a failed commit as a Node.js error; the package delivers it as the rejection of another promise. */
async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as CommitFailure
  if (commitError === undefined) return error
  const reason = await Promise.race([commitError.catch((cause: unknown) => cause), patience()])
  if (!(reason instanceof Error)) return error
  const { message } = reason
  if (hasOverflowed(message)) endProcess(message)
  const code = systemCode((reason as { code?: unknown }).code)
  return Object.assign(new Error(`The index could not be committed: ${reason.message}.`), { code })
}

/** The package (3.5.6, `mdb_page_flush`) prints the reason for a failed write into `malloc(100)`, which has room for 103 bytes and the zero. */
const reasonBytes = 103

/** Whether the reason for a failed write was longer than its memory, so that the heap of this process is damaged. */
export function hasOverflowed(message: string): boolean {
  const at = message.indexOf('Attempting to write page')
  return at >= 0 && message.length - at > reasonBytes
}

/** Nothing may be trusted to a damaged heap; the journal has all that was acknowledged. As an uncaught error, which ends the process in order. */
function endProcess(message: string): void {
  setImmediate(() => {
    throw new Error(
      `A write of the index has failed (${message}), and the library of the index has damaged the memory of this process while it said so. ` +
        'No data is lost: start the server again, and look at the disk.',
    )
  })
}

function patience(): Promise<undefined> {
  return new Promise(resolve => {
    setTimeout(() => resolve(undefined), 10_000)
  })
}

/** Error code of an errno: `ENOSPC` for 28. */
function systemCode(code: unknown): string | undefined {
  return typeof code === 'number' && code > 0 ? getSystemErrorMap().get(-code)?.[0] : undefined
}

function openEnvironment(path: string, readOnly: boolean): RootDatabase {
  const options = {
    path,
    readOnly,
    pageSize,
    overlappingSync: true,
    // A commit is one `batch`. Batching by turns would create a promise whose rejection nobody can handle.
    eventTurnBatching: false,
    keyEncoding: 'binary',
    encoding: 'binary',
    maxDbs: 8,
  } as const
  try {
    return open({ ...options, mapSize: mapBytes, maxReaders: 256 })
  } catch (error) {
    // Where address space is limited (ulimit -v), use the small map that grows.
    if (!/memory|ENOMEM/i.test(String(error))) throw error
    return open({ ...options, maxReaders: 256 })
  }
}

interface LmdbIterator {
  next(): { done?: boolean; value?: { key: Buffer; value: Buffer } }
  return(): void
}

/**
 * Starts walks over one table through one reused iterable. Creating one costs as much as a fifth of finding the first entry, and
 * a listing with a delimiter starts a thousand walks. The package reads the options at the first step of a walk, which follows at
 * once.
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
