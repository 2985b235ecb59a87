/**
 * The face of the plugin `storage`: an ordered, transactional store of small records, with immutable bodies beside them. All data
 * of the server (buckets, objects, uploads, documents) is records; the plugin that writes a record defines its meaning.
 *
 * - Keys are 1 to 3,900 bytes, ordered as unsigned bytes. Keys that begin with 0xfe or 0xff belong to the backend. Values are
 *   bytes that the backend never interprets.
 * - Changes are made by *procedures*: named synchronous functions that run in the storage thread, one at a time, under the commit
 *   lock, and see every earlier commit. So a precondition and the change it guards are atomic, and a thread that can only send
 *   messages to the storage thread can commit, too.
 */
import type { Findings, Logger, MaybePromise, Ports, Threads } from 'svc/kernel'

export { isInDoubt, storageErrors } from './errors.ts'
export { bucketKey, recordTable } from './record-tables.ts'
export { isReadable, type SetSummary, summarizeSets, usedBytes } from './set-summary.ts'

export type RecordKey = Buffer

/** Location of a body committed with its record. Opaque, immutable, and never reused for other bytes. */
export interface BodyRef {
  readonly segment: number
  readonly offset: number
  readonly size: number
  /** Checksum of the body; the backend verifies it on each read. */
  readonly check: number
}

export interface StoredRecord {
  /** Bytes of this record alone: nothing overwrites them, also while the reader waits for something else. Never change them. */
  readonly value: Uint8Array
  readonly body: BodyRef | undefined
}

/** A finished blob. It is durable, but no reader sees it before a record that references it is committed. */
export interface BlobRef {
  /** Never reused; 26 lower-case characters. */
  readonly id: string
  readonly size: number
  /** Checksum of the blob's table of checksums. It ties the file to the record with this reference. */
  readonly check: number
}

/**
 * For how many milliseconds after `get` a record's bytes stay available, even if the record changes: its body for `readBody`, its
 * blobs for `pinBlobs`. After that they may be `gone`.
 */
export const readWindowMs = 3000

export interface PutOptions {
  /** Body to store beside the record, at most `inlineBytesMax` bytes. */
  readonly body?: Uint8Array
  /**
   * Takes over the body of the record stored under this key (possibly the same key), which must exist; where it has none, this record
   * gets none. When the keys differ, a record with a body must be deleted or overwritten in the same transaction: a body belongs to one
   * record.
   */
  readonly bodyOf?: RecordKey
  /** Ids of the blobs that the record references; replaces the former list. Several records may reference one blob. */
  readonly blobs?: readonly string[]
  /** For a small record of one key, or of a bounded number, which is written before anything can be deleted: a full drive takes it too. */
  readonly isUpkeep?: boolean
}

/** The transaction of a procedure. Its changes become visible and durable together, or not at all. */
export interface Transaction {
  /** Increases with every transaction, across restarts too: milliseconds since 1970 × 2048 + counter. A safe integer. */
  readonly sequence: number
  /** The time of this commit, in milliseconds since 1970. */
  readonly nowMs: number
  get(key: RecordKey): StoredRecord | undefined
  /** The first record with start <= key < end. */
  first(start: RecordKey, end: RecordKey): { readonly key: RecordKey; readonly record: StoredRecord } | undefined
  put(key: RecordKey, value: Uint8Array, options?: PutOptions): void
  delete(key: RecordKey): void
  /** The sums of a counter (see `DerivedWriter.add`), including the changes of this transaction; empty when never set. */
  counter(key: RecordKey): readonly number[]
}

/**
 * A change under the commit lock. Synchronous, without I/O. A throw rolls it back and rejects the caller's `execute`. `args` and
 * the result must survive structured clone, since they cross threads; `body` is the one passed to `execute`.
 */
// biome-ignore lint/suspicious/noExplicitAny: each procedure has its own argument and result types
export type Procedure = (tx: Transaction, args: any, body: Uint8Array | undefined) => any

/**
 * Receives the data derived from records: counters and entries, which are stored in the index only and are rebuilt from the
 * records.
 */
export interface DerivedWriter {
  /** Adds to each slot of a counter. Sums must stay within ±2^53. */
  add(counter: RecordKey, deltas: readonly number[]): void
  put(key: RecordKey, value: Uint8Array): void
  delete(key: RecordKey): void
}

/**
 * A pure function of one record's change, so that counters and derived entries are always the same function of the records. It
 * runs inside every commit, during recovery, and when the index is rebuilt. `before` or `after` is undefined when the record did
 * not or does not exist.
 */
export type Derive = (
  key: RecordKey,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
  emit: DerivedWriter,
) => void

/**
 * Walks records in key order within one snapshot, starting before the first. Valid only while the visitor runs. Keys and values
 * are only valid until the next step, so the visitor must copy what it keeps.
 */
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
  /** Resolves when all bytes are durable. */
  finish(): Promise<BlobRef>
  /** Deletes what was written. Idempotent. Allowed after `finish` for a blob that no record references. */
  abort(): Promise<void>
  /**
   * To be called instead of `abort` after the commit of its record was rejected in doubt (`isInDoubt`): deletes the blob once the backend knows
   * that no record refers to it. Backends that cannot know before the next start do not have it.
   */
  abandon?(): Promise<void>
}

export interface BlobChunk {
  readonly bytes: Buffer
  /** The same bytes where they lie, if that is in several places: `bytes` copies them together. */
  readonly pieces?: readonly Buffer[]
  /** Returns the buffer to the pool; the bytes must not be used afterwards. */
  release(): void
}

export interface BlobReader {
  /** The next verified chunk (at most 1 MiB) or undefined at the end. Rejects with `corrupt` when a checksum differs. */
  next(): Promise<BlobChunk | undefined>
  close(): void
}

/** The place of a drive within the storage. Numbers start at 0. */
/** What was done so far to give a drive the shards that it lacks. A shard that fails is tried again. */
export interface RebuildProgress {
  readonly startedMs: number
  readonly updatedMs: number
  /** The record that was healed last; undefined before the first. */
  readonly record: RecordKey | undefined
  /** Records whose shards the drive got, and bytes of those shards. */
  readonly healed: number
  readonly healedBytes: number
  /** Attempts that left it without them. */
  readonly failed: number
  readonly failedBytes: number
  /** Attempts for records whose last one had failed. */
  readonly retried: number
}

export interface DrivePlace {
  readonly pool: number
  readonly set: number
  readonly slot: number
  /** Number of drives of its set that may be lost. */
  readonly parityCount: number
  /** The same for what is stored with reduced redundancy from now on. */
  readonly reducedParityCount: number
  /** The least of any data that may be stored already: data keeps the parity that it was written with. */
  readonly leastParityCount: number
  /** Numbers of drives of its set that must have all records, for reads and for writes. */
  readonly readQuorum: number
  readonly writeQuorum: number
  /** Whether it has all records. An online drive that does not is catching up. */
  readonly isCurrent: boolean
  /** Whether it lacks records or shards that are being written to it. */
  readonly isHealing: boolean
  /** Undefined while no shards of it are rebuilt. */
  readonly rebuild?: RebuildProgress
}

export interface DriveStatus {
  readonly path: string
  readonly id: string
  /** The same for all drives of a deployment; never changes. */
  readonly deploymentId?: string
  readonly state: 'online' | 'full' | 'faulty' | 'offline'
  readonly error: string | undefined
  readonly totalBytes: number
  readonly freeBytes: number
  /** Space that is neither used nor free: the file system's reserve for root. Undefined when there is none. */
  readonly reservedBytes?: number
  readonly freeInodes: number
  /** The same for all drives on a file system; undefined where it is not known. */
  readonly device?: number
  /** Backend-specific figures by camelCase name, for metrics and diagnosis. */
  readonly metrics?: Readonly<Record<string, number>>
  /** Nothing but a restart of the server helps: it is neither read nor written, and nobody tries again. */
  readonly needsRestart?: boolean
  /** For a drive in a set. Absent for a single drive, on which everything depends. */
  readonly place?: DrivePlace
}

/**
 * Level of redundancy, for backends that have several. `reduced` tolerates the loss of fewer drives and takes less space.
 * Default: `standard`. Stored data keeps the level it was written with.
 */
export type Redundancy = 'standard' | 'reduced'

export interface ExecuteOptions {
  /** Redundancy of the body. */
  readonly redundancy?: Redundancy
}

export interface BlobOptions {
  readonly redundancy?: Redundancy
  /** Key of a record that will reference the blob. A hint that saves pooled backends work in their accounting. */
  readonly for?: RecordKey
}

export interface CounterEntry {
  readonly key: Uint8Array
  readonly sums: readonly number[]
}

/** The interface of the extension point `storage.backend`. Every method may be called in every thread. */
export interface StorageBackend {
  /** Opens the storage and recovers; in a worker thread, attaches to the main thread. Afterwards every method works. */
  start(): Promise<void>
  stop(): Promise<void>
  /**
   * Runs a procedure. Resolves with its result when the change is on stable storage. Rejects with the procedure's error, or with
   * the reason why the change was not made or not acknowledged: see `isInDoubt`. The caller must not modify the body any more, as
   * it may be cached.
   */
  execute<Result>(procedure: string, args: unknown, body?: Uint8Array, options?: ExecuteOptions): Promise<Result>
  /** The record as of the last acknowledged commit of any thread. A promise only when it cannot be answered at once. */
  get(key: RecordKey): MaybePromise<StoredRecord | undefined>
  /** Runs a synchronous visitor over the records with start <= key < end, as of the last acknowledged commit. */
  scan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T>
  /** As `scan`, over the derived entries written by `Derive`. */
  scanDerived<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): MaybePromise<T>
  counter(key: RecordKey): MaybePromise<readonly number[]>
  /** The first counters, at most `limit`, with start <= key < end and a sum that is not zero. By key. */
  counters(start: RecordKey, end: RecordKey, limit: number): MaybePromise<readonly CounterEntry[]>
  /**
   * The verified bytes of an inline body; synchronous when cached. Rejects with `gone` when the record was read longer than
   * `readWindowMs` ago and its body has moved since.
   */
  readBody(ref: BodyRef): MaybePromise<Buffer>
  /** `sizeHint`: the expected size in bytes, if known. */
  createBlob(sizeHint?: number, options?: BlobOptions): BlobWriter
  /**
   * Keeps blobs readable, even after their last reference goes, until the returned function is called. The caller must call it.
   * To be called within `readWindowMs` of reading the record. Costs a fraction of a microsecond per blob.
   */
  pinBlobs(refs: readonly BlobRef[]): () => void
  /**
   * Reads a range of a blob that is pinned, or whose record cannot change meanwhile. Rejects with `gone` when it does not exist.
   */
  readBlob(ref: BlobRef, start: number, length: number): BlobReader
  /** Largest body that may accompany a record, in bytes. */
  readonly inlineBytesMax: number
  drives(): MaybePromise<readonly DriveStatus[]>
}

export interface StorageBackendOptions {
  /** The operator's arguments: for drives, absolute paths. */
  readonly endpoints: readonly string[]
  /**
   * The endpoints by pool: each argument with a range is a pool, and the ones without a range are one pool together. Absent: all
   * are one pool.
   */
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
}

/** What a start would meet. Where there are problems, nothing else is told. */
export interface StorageFindings extends Findings {
  /**
   * A record as the last run left it, without opening the storage. Rejects, with what was not looked at and why, where that cannot be
   * known without changing something.
   */
  peek?(key: RecordKey): Promise<StoredRecord | undefined>
  /** As `peek`, for the records with start <= key < end. Where nothing has been stored yet, `visit` is not called. */
  peekScan?<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): Promise<T | undefined>
}

export interface StorageBackendFactory {
  /** Reports what is wrong with the endpoints without touching them: used by `server --dry-run`. Empty = fine. */
  validate(endpoints: readonly string[], pools?: readonly (readonly string[])[]): readonly string[]
  /** Where another backend is chosen for the endpoints: settings of this one that would have no effect there. Empty or absent = none. */
  ignored?(endpoints: readonly string[]): readonly string[]
  /**
   * For `server --dry-run`, where `validate` has no objection. Reads only: nothing is written, created or left open. Absent: the
   * backend cannot tell.
   */
  inspect?(options: StorageLookOptions): Promise<StorageFindings>
  /** Called during set-up in every thread. Does no I/O before `start`. */
  create(options: StorageBackendOptions): StorageBackend
}

/** The service `storage`: the configured backend, plus the declarations of the plugins that use it. */
export interface StorageService extends Omit<StorageBackend, 'start' | 'stop'> {
  /** Declares procedures; their names begin with the plugin's name. Only during `setup`. */
  define(procedures: Readonly<Record<string, Procedure>>): void
  /**
   * A record of a storage that has not been started, for the checks of `server --dry-run`: see `StorageFindings.peek`. Undefined, too,
   * where the inspection of the storage itself has found a problem.
   */
  peek(key: RecordKey): Promise<StoredRecord | undefined>
  /** As `peek`, for the records with start <= key < end. */
  peekScan<T>(start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): Promise<T | undefined>
  /** Declares the derived data of records whose key begins with this byte. One plugin per byte. Only during `setup`. */
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
