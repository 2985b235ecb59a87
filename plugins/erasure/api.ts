/**
 * What other plugins may use of `erasure`: the service `sets`, with which `pools` makes one storage of several sets, and the service
 * `redundancy`, with which `heal` reports which records lack shards, and rebuilds them. `redundancy` has no storage on a single drive.
 */
import type {
  Cursor,
  DriveStatus,
  RecordKey,
  StorageBackend,
  StorageBackendOptions,
  StorageLookOptions,
  StoredRecord,
} from 'svc/plugins/storage/api'

export { sumOf } from './ledger.ts'
export { deploymentsProblem } from './mounts.ts'

/** Most drives of a set. */
export const setDrivesMax = 16

/**
 * Key of the record by which a set says that it is one of several, in a table that is reserved for backends. Its value belongs to the
 * plugin that wrote it (`pools`). A set that has this record is refused as a storage of its own.
 */
export const sharedSetKey: RecordKey = Buffer.from([0xff, 0x70])

/** State of one shard. `corrupt`: it is there, and its bytes are wrong. `offline`: its drive cannot be asked. */
export type ShardState = 'ok' | 'missing' | 'corrupt' | 'offline'

export interface RecordHealth {
  /** By slot. */
  readonly before: readonly ShardState[]
  readonly after: readonly ShardState[]
  /** Why shards are still missing after the attempt: a sentence. */
  readonly error: string | undefined
  /** Bytes that are stored as shards, without parity. */
  readonly dataBytes: number
  /** How many shards are needed to read all of it. */
  readonly dataCount: number
}

/** Number of records with shards, and bytes of their data. */
export interface RedundancyAmount {
  readonly records: number
  readonly bytes: number
}

export interface RedundancyReading {
  readonly total: RedundancyAmount
  /** Records that lack a shard, or have one on an offline drive. */
  readonly below: RedundancyAmount
}

export interface HealCounts {
  /** Records that got shards that they lacked. */
  readonly healed: number
  readonly failed: number
  /** Records whose shards were all read. */
  readonly scrubbed: number
  /** Records among them that had a missing or corrupt shard. */
  readonly damaged: number
}

/** Result of healing a record. Positions are those of drives, in the order of pool, set and slot. */
export interface HealOutcome {
  /** Undefined for drives that have no shard of it. */
  readonly before: readonly (ShardState | undefined)[]
  readonly after: readonly (ShardState | undefined)[]
  /** Enough shards are there afterwards to read all of it. */
  readonly isReadable: boolean
  /** Why shards are still missing after the attempt: a sentence. */
  readonly error: string | undefined
  /** Bytes that are stored as shards, without parity. */
  readonly dataBytes: number
}

/** A set and its position in the storage. Numbers from 0. */
export interface PlacedSet {
  readonly pool: number
  readonly set: number
  readonly redundant: RedundantSet
}

/** All sets of a storage together. */
export interface RedundantStorage {
  /** In the order of pool and set. */
  readonly sets: readonly PlacedSet[]
  /** Every drive has all records of its set. */
  readonly isWhole: boolean
  readonly canWrite: boolean
  /**
   * Shards that were found missing or corrupt within the last moments; their records do not say so yet. A drive that has come back, and may
   * have noted some, counts as one until it has been asked.
   */
  readonly unmarkedShardCount: number
  /** The same without such drives. */
  readonly foundShardCount: number
  /** Records whose last attempt to heal failed; some may be lost. They are tried again. */
  readonly failingCount: number
  /** Counts of the background repair since the start. */
  readonly counts: HealCounts
  /** Checks first that each folder still holds its drive. */
  drives(): Promise<readonly DriveStatus[]>
  /**
   * Exact at any instant. With `records`: of the groups (tables and buckets) that these belong to; otherwise of all records. A blob in
   * another set than its record counts there, as a record of its own, in the group of its bucket.
   */
  amounts(records?: readonly RecordKey[]): Promise<RedundancyReading>
  /** Records with start <= key < end, at most 256, and where to continue. */
  page(
    start: RecordKey,
    end: RecordKey,
  ): Promise<{ readonly keys: readonly RecordKey[]; readonly next: RecordKey | undefined }>
  /** `deep` also reads every shard that the record says is there. Undefined if there is no such record, or it has no shards. */
  heal(key: RecordKey, options: { readonly deep: boolean; readonly dryRun: boolean }): Promise<HealOutcome | undefined>
  /** Whether the data of the record is lost for good: determined by reading every shard, and false while a drive is offline. */
  isLost(key: RecordKey): Promise<boolean>
  /**
   * Reads every shard of some records, for about a quarter of a second, and rebuilds missing and corrupt ones. Resolves with where to
   * continue, undefined at the end.
   */
  scrubSome(from: RecordKey | undefined, signal: AbortSignal): Promise<RecordKey | undefined>
}

/** One set, which is a storage of one set, too. */
export interface RedundantSet extends RedundantStorage {
  /** Never changes: 32 hexadecimal digits. */
  readonly id: string
  readonly driveCount: number
  /** How many shards are enough to read data with the parity of the set. */
  readonly dataCount: number
}

export interface SetOptions extends StorageBackendOptions {
  /** Prefix of its messages between threads and of its drives' names: unique in the process, the same in each thread. */
  readonly name: string
  /** Number of drives, those of other sets included, that share the configured memory. */
  readonly shareOf: number
  /** Number of sets that share the memory for stripes. */
  readonly setCount: number
}

/** A set as a storage backend. Places in its statuses are as if it were the only set. */
export interface DriveSet extends StorageBackend {
  /** `deploymentId`: deployment of drives without a format. Default: that of the other drives, or a new one. */
  start(deploymentId?: string): Promise<void>
  /**
   * Throws what `execute` would throw if too few drives have all records. From memory, in every thread; a drive that has just failed may not
   * be noticed yet.
   */
  requireQuorum(): void
  /** In the main thread, while it is open. */
  readonly redundant: RedundantSet | undefined
}

export interface SetsService {
  /** Problems with the endpoints of one set, as sentences. */
  validate(endpoints: readonly string[]): readonly string[]
  /** For `server --dry-run`: see `StorageBackendFactory`. For one set. */
  check(options: StorageLookOptions): Promise<readonly string[]>
  plan(options: StorageLookOptions): Promise<readonly string[]>
  notLookedAt(options: StorageLookOptions): Promise<readonly string[]>
  peek(options: StorageLookOptions, key: RecordKey): Promise<StoredRecord | undefined>
  peekScan<T>(
    options: StorageLookOptions,
    start: RecordKey,
    end: RecordKey,
    visit: (cursor: Cursor) => T,
  ): Promise<T | undefined>
  /** To be called in every thread, with the same options but its own `threads`. Does no I/O before `start`. */
  create(options: SetOptions): DriveSet
  /** Sets the storage that `redundancy` returns; undefined at the stop. */
  show(storage: RedundantStorage | undefined): void
}

export interface RedundancyService {
  /** The open storage, in the main thread. Undefined in other threads, before the start, and on a single drive. */
  storage(): RedundantStorage | undefined
}

declare module 'svc/kernel' {
  interface Services {
    sets: SetsService
    redundancy: RedundancyService
  }
}
