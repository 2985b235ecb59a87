/**
 * The public interface of the plugin `drive`: drives, each of which is a storage backend in one folder of one file system, with its own
 * journal, index and blobs. The backends `drive` (one folder) and `erasure` (a set of several) build on it.
 *
 * A drive runs in the storage thread, but callers treat it as if it were in another process: any call may take long, and fails with a code
 * of `storageErrors`:
 *
 * | Code | Meaning |
 * |---|---|
 * | `unavailable` | the drive is offline, or does not answer |
 * | `faulty` | the drive has failed, and takes no writes |
 * | `full` | the file system has no room |
 * | `corrupt` | stored bytes do not match their checksum |
 * | `gone` | the record was moved or deleted since its caller read it |
 */
import type { Logger, Ports, Threads } from 'svc/kernel'
import type {
  BlobOptions,
  BlobWriter,
  Cursor,
  Derive,
  Procedure,
  RecordKey,
  StorageBackend,
  StoredRecord,
} from 'svc/plugins/storage/api'
import type { Disk } from './disk.ts'

export { allocateAligned } from './aligned-memory.ts'
export type * from './disk.ts'
export { FreeBuffers } from './free-buffers.ts'

/**
 * Value of `check` in a `BlobRef` for callers that identify the content by other means: only the file's own checksums are
 * verified.
 */
export const anyBlobCheck = -1

export interface DriveOptions {
  /** An absolute path. */
  readonly path: string
  /** Prefix of its messages between threads: unique among the drives of a process, the same in each thread. */
  readonly name: string
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  readonly threads: Threads
  readonly ports: Ports
  /** Default: that of the service. */
  readonly disk?: Disk
  readonly log: Logger
  /** The deployment of a folder without a format. Default: a new deployment. A start refuses a drive of another deployment. */
  readonly deploymentId?: string
  /**
   * Called in the main thread for each unreferenced blob of a former run: whether it may be deleted. `later`: not known yet, ask
   * again. Without an id: whether that is unknown for all blobs. Default: `delete`.
   */
  garbage?(blobId?: string): Garbage
  /** Asked in the main thread before blobs that have lost their last reference are deleted. Default: they may be. */
  readonly finality?: Finality
  /**
   * No other drive has this data: bytes that a record refers to and that are missing or damaged are `corrupt`, and counted in the
   * status. Otherwise missing ones are `gone`.
   */
  readonly isAlone?: boolean
  /**
   * Called in the main thread when the drive has failed, also where nobody waits for an answer; the caller tells the operator, and may
   * stop and start the drive. Without it the drive logs that it takes no writes until a restart.
   */
  onFault?(error: unknown): void
  /** The configured memory (caches, buffers) is divided by this number of drives. Default 1. */
  readonly shareOf?: number
}

export type Garbage = 'delete' | 'keep' | 'later'

/** What a drive of a set has to know of the others before it deletes the blobs that its records do not reference any more. */
export interface Finality {
  look(): Outlook
  /** `false` for a drive that has every change. Otherwise whether any record of the set, which it may get later, references the blob. */
  isNeeded(blobId: string): false | Promise<boolean>
}

/** What will not be undone of what a drive has done: all between two monotonic times, in milliseconds, both exclusive. */
export interface Outlook {
  readonly afterMs: number
  readonly beforeMs: number
  /** Changes with the leader of the set: what `isNeeded` answered in another term does not count any more. */
  readonly term: number
}

export interface DriveBlobOptions extends BlobOptions {
  /** One of `blobIds`. */
  readonly id?: string
}

export interface Drive extends StorageBackend {
  /**
   * With the caller's `id`, finishing replaces a blob that already has this id, which stays until then. `abort` after `finish`
   * deletes the new blob unless a record references it. Throws RangeError for an invalid id.
   */
  createBlob(sizeHint?: number, options?: DriveBlobOptions): BlobWriter
  /**
   * Syncs a readable blob to stable storage: a killed process may have left it in the page cache only. Rejects if the blob does
   * not exist.
   */
  syncBlob(id: string): Promise<void>
  /** 32 hexadecimal digits. Only in the main thread, after the start. */
  readonly driveId: string
}

/** The identity of a folder, read without opening it. */
export interface DriveLook {
  readonly path: string
  /** `empty`: may become a drive; the folder may not exist yet. `unusable`: `problem` says why. */
  readonly state: 'empty' | 'formatted' | 'unusable'
  /** 32 hexadecimal digits; undefined unless formatted. */
  readonly driveId: string | undefined
  readonly deploymentId: string | undefined
  /** One sentence. */
  readonly problem: string | undefined
}

export interface DrivesService {
  /** The disk port of all drives. */
  readonly disk: Disk
  /** Reads `format.json`; changes nothing. */
  look(path: string): Promise<DriveLook>
  /** For `server --dry-run`: one sentence per reason why the drive could not be opened. Changes nothing. */
  check(path: string): Promise<readonly string[]>
  /** For `server --dry-run`, after a `check` without findings: see `StorageBackendFactory.peek`. */
  peek(path: string, key: RecordKey): Promise<StoredRecord | undefined>
  /** Likewise: see `StorageFindings.peekScan`. */
  peekScan<T>(path: string, start: RecordKey, end: RecordKey, visit: (cursor: Cursor) => T): Promise<T | undefined>
  /** Called in every thread, with the same options except for `threads`. Does no I/O before `start`. */
  create(options: DriveOptions): Drive
  /** Makes ids of blobs, each of which is unique. Blobs with ids that were made one after the other are cheaper to write. */
  blobIds(ports: Ports): () => string
}

declare module 'svc/kernel' {
  interface Services {
    drives: DrivesService
  }
}
