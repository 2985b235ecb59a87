/**
 * Drives: what one folder of one file system keeps, for whoever makes one storage of several of them. A drive is a storage
 * backend of its own, with its own journal, index and blobs; this face is what a drive in another process could have, too: every
 * call may be answered late, and fails with `storageErrors` (`unavailable`: offline, `faulty`, `full`, `corrupt`, `gone`).
 */
import type { Logger, Ports, Threads } from 'svc/kernel'
import type {
  BlobOptions,
  BlobWriter,
  Derive,
  Procedure,
  RecordKey,
  StorageBackend,
  StoredRecord,
} from 'svc/plugins/storage/api'

/** As `check` of a `BlobRef`: the file's own checksums are enough. For who knows by other means that it is the right one. */
export const anyBlobCheck = -1

export interface DriveOptions {
  /** Absolute. */
  readonly path: string
  /** Names its messages between threads: unique among the drives of a process, the same in each thread. */
  readonly name: string
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly derive: Derive
  readonly threads: Threads
  readonly ports: Ports
  readonly log: Logger
  /** What a folder without a format will belong to. Default: a new deployment. A drive of another one is refused at the start. */
  readonly deploymentId?: string
  /**
   * Whether a blob of a former run may be deleted because no record of this drive refers to it: asked before each. `later`: it is not known
   * yet, and the rest is to be looked at again; without an id, of none of them. Default: `delete`. In the main thread.
   */
  garbage?(blobId?: string): Garbage
  /** Among how many drives the memory of the configuration (caches, buffers) is divided. Default 1. */
  readonly shareOf?: number
}

export type Garbage = 'delete' | 'keep' | 'later'

export interface DriveBlobOptions extends BlobOptions {
  /** Made by the caller: see `newBlobId`. */
  readonly id?: string
}

export interface Drive extends StorageBackend {
  /**
   * With an id of the caller: what has that name already is replaced when the new one is finished, and
   * stays until then. `abort` of one that was finished deletes it unless a record references it. RangeError for what is no id.
   */
  createBlob(sizeHint?: number, options?: DriveBlobOptions): BlobWriter
  /**
   * Brings a blob that can be read onto stable storage: what a process that was killed left may be in the memory of the machine only.
   * Rejects where it is not there.
   */
  syncBlob(id: string): Promise<void>
  /** 32 hexadecimal digits; only of a drive that has been started, in the main thread. */
  readonly driveId: string
}

/** What a folder says of itself, without opening it. */
export interface DriveLook {
  readonly path: string
  /** `empty`: it may become a drive, or does not exist yet. `unusable`: why is in `problem`. */
  readonly state: 'empty' | 'formatted' | 'unusable'
  /** 32 hexadecimal digits where formatted. */
  readonly driveId: string | undefined
  readonly deploymentId: string | undefined
  /** A sentence. */
  readonly problem: string | undefined
}

export interface DrivesService {
  /** Reads `format.json`; changes nothing. */
  look(ports: Ports, path: string): Promise<DriveLook>
  /** For `server --dry-run`: one sentence for each reason why a drive could not be opened there. Changes nothing. */
  check(ports: Ports, path: string): Promise<readonly string[]>
  /** For `server --dry-run`, where `check` found nothing: see `StorageBackendFactory.peek`. */
  peek(ports: Ports, path: string, key: RecordKey): Promise<StoredRecord | undefined>
  /** During set-up or later, in every thread with the same options but its own `threads`. Does no I/O before `start`. */
  create(options: DriveOptions): Drive
  /** An id that no blob has had. */
  newBlobId(ports: Ports): string
}

declare module 'svc/kernel' {
  interface Services {
    drives: DrivesService
  }
}
