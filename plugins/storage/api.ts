/**
 * Storage: an ordered, transactional store of small records with immutable bodies beside them. Everything that the server
 * keeps (buckets, objects, uploads, documents) is records; what a record means is the business of the plugin that wrote it.
 *
 * Keys are bytes, at most 3 900 of them, ordered by unsigned bytes; those that begin with 0xfe or 0xff are the backend's own. Values
 * are bytes that the backend never looks into.
 *
 * Changes are made by *procedures*: named synchronous functions that run in the storage thread, one at a time, under the
 * commit lock, and see every earlier commit. So a precondition and the change that it guards cannot be separated, and a
 * thread that has only a message channel to the storage thread can still commit.
 */
import type { Findings, Logger, MaybePromise, Ports, Threads } from 'svc/kernel'

export { isInDoubt, storageErrors } from './errors.ts'
export { bucketKey, recordTable } from './record-tables.ts'
export { isReadable, type SetSummary, summarizeSets } from './set-summary.ts'

export type RecordKey = Buffer

/** Where a body that was committed together with its record lies. Opaque; immutable; never reused for other bytes. */
export interface BodyRef {
  readonly segment: number
  readonly offset: number
  readonly size: number
  /** Checksum that the backend verifies when the body is read. */
  readonly check: number
}

export interface StoredRecord {
  /** Valid only until control returns to the event loop: decode or copy at once. */
  readonly value: Uint8Array
  readonly body: BodyRef | undefined
}

/** A finished blob: durable, but visible to nobody until a record that references it is committed. */
export interface BlobRef {
  /** Unique for ever; 26 lower-case characters. */
  readonly id: string
  readonly size: number
  /** Checksum over the blob's own table of checksums: ties the file to the record that holds this reference. */
  readonly check: number
}

/**
 * How long after it was got a record's bytes can be asked for, in milliseconds, whatever happens to the record meanwhile: a body
 * by `readBody`, blobs by `pinBlobs`. Later they may be `gone`.
 */
export const readWindowMs = 3000

export interface PutOptions {
  /** Bytes to keep beside the record, at most `inlineBytesMax`. */
  readonly body?: Uint8Array
  /**
   * Takes over the body of the record stored under this key (possibly the same key). When the keys differ, that record
   * must be deleted or overwritten in the same transaction: a body belongs to one record.
   */
  readonly bodyOf?: RecordKey
  /** Ids of the blobs that the record references; several records may reference one blob. Replaces the former list. */
  readonly blobs?: readonly string[]
}

/** What a procedure works with. All of its changes become visible and durable together, or not at all. */
export interface Transaction {
  /** Increases with every transaction, also across restarts: milliseconds since 1970 × 2048 + counter. A safe integer. */
  readonly sequence: number
  /** Milliseconds since 1970 for everything that this commit stamps. */
  readonly nowMs: number
  get(key: RecordKey): StoredRecord | undefined
  /** The first record with start <= key < end. */
  first(start: RecordKey, end: RecordKey): { readonly key: RecordKey; readonly record: StoredRecord } | undefined
  put(key: RecordKey, value: Uint8Array, options?: PutOptions): void
  delete(key: RecordKey): void
  /** The current sums of a counter (see `DerivedWriter.add`), this transaction's own changes included; empty when unset. */
  counter(key: RecordKey): readonly number[]
}

/**
 * A change under the commit lock. Synchronous, no I/O; a throw undoes it whole and reaches the caller of `execute`.
 * `args` and the result must survive structured clone (they cross threads); `body` is what the caller passed to `execute`.
 */
// biome-ignore lint/suspicious/noExplicitAny: each procedure has its own argument and result types
export type Procedure = (tx: Transaction, args: any, body: Uint8Array | undefined) => any

/** Receives what follows from a record: sums and entries that live in the index only and are rebuilt from the records. */
export interface DerivedWriter {
  /** Adds to each slot of a counter. Sums must stay within ±2^53. */
  add(counter: RecordKey, deltas: readonly number[]): void
  put(key: RecordKey, value: Uint8Array): void
  delete(key: RecordKey): void
}

/**
 * A pure function of one record's change. It is called inside every commit, at recovery and at a rebuild of the index, so
 * that counters and derived entries are the same function of the records always. `before`/`after` are undefined where the
 * record did not or does not exist.
 */
export type Derive = (
  key: RecordKey,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
  emit: DerivedWriter,
) => void

/** Walks records in key order inside one snapshot, beginning before the first. Valid only while the visitor runs; keys and values are copied out by it. */
export interface Cursor {
  /** Moves to the first record with key >= the given one; false at the end of the range. */
  seek(key: RecordKey): boolean
  /** Moves to the next record; false at the end of the range. */
  next(): boolean
  readonly key: Buffer
  readonly value: Uint8Array
  readonly body: BodyRef | undefined
}

export interface BlobWriter {
  readonly id: string
  /** Copies the chunk. A returned promise asks the caller to wait before the next write (back-pressure). */
  write(chunk: Uint8Array): MaybePromise<void>
  /** Resolves when every byte is durable. */
  finish(): Promise<BlobRef>
  /** Removes what was written. Idempotent; allowed after `finish` for a blob that no record came to reference. */
  abort(): Promise<void>
}

export interface BlobChunk {
  readonly bytes: Buffer
  /** Gives the buffer back to the pool; the bytes must not be touched afterwards. */
  release(): void
}

export interface BlobReader {
  /** The next verified chunk (at most 512 KiB) or undefined at the end. Rejects with `corrupt` when a checksum differs. */
  next(): Promise<BlobChunk | undefined>
  close(): void
}

/** Where a drive stands among those that keep everything together. Numbers from 0. */
export interface DrivePlace {
  readonly pool: number
  readonly set: number
  readonly slot: number
  /** Of its set: so many drives may be lost. */
  readonly parityCount: number
  /** Of its set: so many drives must have all records, for reads and for writes. */
  readonly readQuorum: number
  readonly writeQuorum: number
  /** It has all records. One that is online and has not is being given what it lacks. */
  readonly isCurrent: boolean
  /** It lacks records or shards, and is being given them. */
  readonly isHealing: boolean
}

export interface DriveStatus {
  readonly path: string
  readonly id: string
  /** The same for all drives that belong together, for ever. */
  readonly deploymentId?: string
  readonly state: 'online' | 'full' | 'faulty' | 'offline'
  readonly error: string | undefined
  readonly totalBytes: number
  readonly freeBytes: number
  /** Neither used nor free: what the file system keeps for root. None when unset. */
  readonly reservedBytes?: number
  readonly freeInodes: number
  /** Figures of the backend by camelCase name, for metrics and diagnosis; which ones is the backend's affair. */
  readonly metrics?: Readonly<Record<string, number>>
  /** Of a drive in a set. Absent: everything depends on this drive. */
  readonly place?: DrivePlace
}

/**
 * How well bytes are to be kept, where a backend knows a difference: `reduced` bears the loss of fewer drives and takes less room.
 * Default: `standard`. What was written stays as it was written.
 */
export type Redundancy = 'standard' | 'reduced'

export interface ExecuteOptions {
  /** Of the body. */
  readonly redundancy?: Redundancy
}

export interface BlobOptions {
  readonly redundancy?: Redundancy
  /** Key of a record that is to refer to the blob. A hint: what keeps books by tables and buckets has less to do. */
  readonly for?: RecordKey
}

/** The interface behind the extension point `storage.backend`. Every method may be called in every thread. */
export interface StorageBackend {
  /** Opens, recovers, and in a worker thread attaches to the main thread. After it every method works. */
  start(): Promise<void>
  stop(): Promise<void>
  /**
   * Runs a procedure; resolves with its result when the change is on stable storage, and rejects with what it threw, or with what
   * kept the change from being made or acknowledged: see `isInDoubt`. The body's bytes must not be changed any more by the caller: they may be kept in a cache.
   */
  execute<Result>(procedure: string, args: unknown, body?: Uint8Array, options?: ExecuteOptions): Promise<Result>
  /** The record, as of the last acknowledged commit of any thread. A promise only where it cannot be known at once. */
  get(key: RecordKey): MaybePromise<StoredRecord | undefined>
  /** Runs a synchronous visitor over start <= key < end of records (not derived entries), as of the last acknowledged commit. */
  scan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T>
  /** The same over derived entries written by `Derive`. */
  scanDerived<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T>
  counter(key: RecordKey): MaybePromise<readonly number[]>
  /**
   * Verified bytes of an inline body. Synchronous when cached. Rejects with `gone` when the record was got longer than
   * `readWindowMs` ago and has meanwhile moved.
   */
  readBody(ref: BodyRef): MaybePromise<Buffer>
  /** `sizeHint` is what the caller expects to write, in bytes, if it knows. */
  createBlob(sizeHint?: number, options?: BlobOptions): BlobWriter
  /**
   * Keeps blobs readable, also when the last record that references them goes, until the returned function is called. It must be
   * called. To be asked for within `readWindowMs` of getting the record. Costs a fraction of a microsecond a blob.
   */
  pinBlobs(refs: readonly BlobRef[]): () => void
  /** Reads a range of a blob that is held, or whose record cannot change meanwhile. `gone` when it does not exist. */
  readBlob(ref: BlobRef, start: number, length: number): BlobReader
  /** Largest body that may accompany a record, in bytes. */
  readonly inlineBytesMax: number
  drives(): MaybePromise<readonly DriveStatus[]>
}

export interface StorageBackendOptions {
  /** What the operator named on the command line: for drives, absolute paths. */
  readonly endpoints: readonly string[]
  /** The same, by pool: each argument with a range is one, and those without are one together. Absent: all are one. */
  readonly pools?: readonly (readonly string[])[]
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  readonly threads: Threads
  readonly ports: Ports
  readonly log: Logger
}

export interface StorageLookOptions {
  readonly endpoints: readonly string[]
  /** See `StorageBackendOptions`. */
  readonly pools?: readonly (readonly string[])[]
  readonly ports: Ports
}

/** What a start would meet. Where there are problems, nothing else is told. */
export interface StorageFindings extends Findings {
  /**
   * A record as the last run left it, without opening the storage. Rejects, with what was not looked at and why, where that cannot be
   * known without changing something.
   */
  peek?(key: RecordKey): Promise<StoredRecord | undefined>
}

export interface StorageBackendFactory {
  /** Reports what is wrong with the endpoints without touching them: used by `server --dry-run`. Empty = fine. */
  validate(endpoints: readonly string[], pools?: readonly (readonly string[])[]): readonly string[]
  /**
   * For `server --dry-run`, where `validate` has no objection. Reads only: nothing is written, created or left open. Absent: the
   * backend cannot tell.
   */
  inspect?(options: StorageLookOptions): Promise<StorageFindings>
  /** Called during set-up in every thread; must not do I/O before `start`. */
  create(options: StorageBackendOptions): StorageBackend
}

/** The service `storage`: the configured backend, and the place where its users declare what they do in it. */
export interface StorageService extends Omit<StorageBackend, 'start' | 'stop'> {
  /** Declares procedures, by names that begin with the plugin's own. Only during `setup`. */
  define(procedures: Readonly<Record<string, Procedure>>): void
  /**
   * A record of a storage that has not been started, for the checks of `server --dry-run`: see `StorageFindings.peek`. Undefined, too,
   * where the inspection of the storage itself has found a problem.
   */
  peek(key: RecordKey): Promise<StoredRecord | undefined>
  /** Declares what follows from records whose key begins with this byte. One plugin per byte. Only during `setup`. */
  derive(tableByte: number, derive: Derive): void
}

declare module 'svc/kernel' {
  interface Services {
    storage: StorageService
  }
  interface ExtensionPoints {
    'storage.backend': StorageBackendFactory
  }
}
