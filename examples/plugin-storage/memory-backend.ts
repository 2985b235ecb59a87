/** A storage backend without a disk: what is stored is gone when the process ends. */
import type {
  BlobReader,
  BlobRef,
  BlobWriter,
  Cursor,
  RecordKey,
  StorageBackend,
  StorageBackendOptions,
} from 'svc/plugins/storage/api'
import { readWindowMs, storageErrors } from 'svc/plugins/storage/api'
import { inlineBytesMax, type MemoryRecord, type MemoryTables, MemoryTransaction } from './memory-transaction.ts'
import { OrderedMap, textOf } from './ordered-map.ts'

const chunkBytesMax = 512 * 1024
const sequencesPerMs = 2048

export function createMemoryBackend(options: StorageBackendOptions): StorageBackend {
  const { procedures, derive, ports, threads } = options
  const tables: MemoryTables = {
    records: new OrderedMap(),
    derived: new OrderedMap(),
    counters: new Map(),
    bodies: new Map(),
    lastBody: { number: 0 },
    blobUses: new Map(),
  }
  const blobs = new Map<string, Buffer>()
  /** How many readers hold a blob. */
  const holds = new Map<string, number>()
  let sequence = 0

  /** Runs at once: JavaScript runs one function at a time, so the call itself is the commit lock. */
  const run = (name: string, args: unknown, body: Uint8Array | undefined): unknown => {
    const procedure = procedures[name]
    if (procedure === undefined) throw new Error(`No procedure "${name}" is defined.`)
    const nowMs = ports.clock.now()
    sequence = Math.max(sequence + 1, nowMs * sequencesPerMs)
    const transaction = new MemoryTransaction(tables, derive, sequence, nowMs)
    try {
      const result = procedure(transaction, args, body)
      transaction.finish()
      forgetLater(transaction)
      return result
    } catch (error) {
      transaction.rollBack()
      throw error
    }
  }

  /** Who got a record before may still read its bytes for a while, and blobs for as long as they are held. */
  const forgetLater = ({ released, dropped }: MemoryTransaction): void => {
    if (released.size === 0 && dropped.size === 0) return
    ports.clock.after(readWindowMs, () => {
      for (const body of dropped) tables.bodies.delete(body.offset)
      for (const id of released) dropBlob(id)
    })
  }

  const dropBlob = (id: string): void => {
    if (tables.blobUses.get(id) === 0 && !holds.has(id)) blobs.delete(id)
  }

  const pinBlobs = (refs: readonly BlobRef[]): (() => void) => {
    for (const { id } of refs) holds.set(id, (holds.get(id) ?? 0) + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      for (const { id } of refs) {
        const left = holds.get(id)! - 1
        if (left > 0) holds.set(id, left)
        else holds.delete(id)
        dropBlob(id)
      }
    }
  }

  const createBlob = (): BlobWriter => {
    const id = ports.random.bytes(13).toString('hex')
    let chunks: Buffer[] = []
    let isOpen = true
    return {
      id,
      write(chunk) {
        if (!isOpen) throw new Error('the blob is finished or aborted')
        chunks.push(Buffer.from(chunk))
      },
      async finish() {
        isOpen = false
        const bytes = Buffer.concat(chunks)
        chunks = []
        blobs.set(id, bytes)
        return { id, size: bytes.length, check: 0 }
      },
      async abort() {
        isOpen = false
        chunks = []
        blobs.delete(id)
      },
    }
  }

  return {
    inlineBytesMax,
    async start() {
      if (threads.workerCount > 0) throw new Error('The memory backend lives in one thread: start with --workers 0.')
    },
    async stop() {},
    // `async` turns a throw into a rejection.
    execute: async <Result>(name: string, args: unknown, body?: Uint8Array) => run(name, args, body) as Result,
    get: key => tables.records.get(textOf(key)),
    scan: (start, end, visit) =>
      visit(
        createCursor(
          tables.records,
          start,
          end,
          record => record.value,
          record => record.body,
        ),
      ),
    scanDerived: (start, end, visit) => visit(createCursor(tables.derived, start, end, value => value, noBody)),
    counter: key => tables.counters.get(textOf(key)) ?? [],
    counters(start, end, limit) {
      const [from, to] = [textOf(start), textOf(end)]
      const found = [...tables.counters]
        .filter(([text]) => text >= from && text < to)
        .sort(([a], [b]) => (a < b ? -1 : 1))
      return found.slice(0, limit).map(([text, sums]) => ({ key: Buffer.from(text, 'latin1'), sums }))
    },
    readBody(ref) {
      const bytes = tables.bodies.get(ref.offset)
      if (bytes === undefined) throw storageErrors.gone()
      return bytes
    },
    createBlob,
    pinBlobs,
    readBlob: (ref, start, length) => createReader(blobs.get(ref.id), ref, start, length),
    drives: () => [
      {
        path: options.endpoints[0] ?? 'memory',
        id: 'memory',
        state: 'online',
        error: undefined,
        totalBytes: Number.MAX_SAFE_INTEGER,
        freeBytes: Number.MAX_SAFE_INTEGER,
        freeInodes: Number.MAX_SAFE_INTEGER,
      },
    ],
  }
}

const noBody = (): undefined => undefined

function createCursor<Value extends MemoryRecord | Buffer>(
  map: OrderedMap<Value>,
  start: RecordKey,
  end: RecordKey,
  readValue: (value: Value) => Uint8Array,
  readBody: (value: Value) => Cursor['body'],
): Cursor {
  const keys = map.keys()
  const last = map.lowerBound(textOf(end))
  const first = map.lowerBound(textOf(start))
  let at = first - 1
  const current = () => map.get(keys[at])!
  return {
    next: () => ++at < last,
    seek(key) {
      at = Math.max(first, map.lowerBound(textOf(key)))
      return at < last
    },
    get key() {
      return Buffer.from(keys[at], 'latin1')
    },
    get value() {
      return readValue(current())
    },
    get body() {
      return readBody(current())
    },
  }
}

function createReader(bytes: Buffer | undefined, ref: BlobRef, start: number, length: number): BlobReader {
  if (start < 0 || start + length > ref.size) throw new RangeError('the range lies outside of the blob')
  let at = start
  const end = start + length
  return {
    async next() {
      if (bytes === undefined) throw storageErrors.gone()
      if (at >= end) return undefined
      const chunk = bytes.subarray(at, Math.min(end, at + chunkBytesMax))
      at += chunk.length
      return { bytes: chunk, release: () => undefined }
    },
    close() {},
  }
}
