/**
 * Sets, for whoever makes one storage of several of them; and redundancy: what sets of drives can say of their shards, and how these
 * are made anew. For `heal`, which offers it to operators. Where the storage is no set there is none.
 */
import type {
  DriveStatus,
  RecordKey,
  StorageBackend,
  StorageBackendOptions,
  StorageLookOptions,
  StoredRecord,
} from 'svc/plugins/storage/api'

export { sumOf } from './ledger.ts'
export { deploymentsProblem } from './mounts.ts'

/** Drives of a set. */
export const setDrivesMax = 16

/**
 * Where a set that is one of several says so, in a table that users of the storage leave to backends. What the record says is the affair
 * of who wrote it; a set that has one is refused where it is to be the whole storage.
 */
export const sharedSetKey: RecordKey = Buffer.from([0xff, 0x70])

/** Of one shard. `corrupt`: it is there, and its bytes are wrong. `offline`: its drive cannot be asked. */
export type ShardState = 'ok' | 'missing' | 'corrupt' | 'offline'

export interface RecordHealth {
  /** By slot. */
  readonly before: readonly ShardState[]
  readonly after: readonly ShardState[]
  /** Why shards that were to be made are still missing: a sentence. */
  readonly error: string | undefined
  /** Of what is kept in shards, without parity. */
  readonly dataBytes: number
  /** So many shards are needed to read all of it. */
  readonly dataCount: number
}

/** Records that have shards, and bytes of their data. */
export interface RedundancyAmount {
  readonly records: number
  readonly bytes: number
}

export interface RedundancyReading {
  readonly total: RedundancyAmount
  /** What lacks a shard, or has one on a drive that is away. */
  readonly below: RedundancyAmount
}

export interface HealCounts {
  /** Records that were given shards that they lacked. */
  readonly healed: number
  readonly failed: number
  /** Records whose shards were all read. */
  readonly scrubbed: number
  /** Of them, those that lacked one, or had a damaged one. */
  readonly damaged: number
}

/** What became of a record that was to be healed. Positions are those of drives in the order of pool, set and slot. */
export interface HealOutcome {
  /** Undefined for drives that are not to have a shard of it. */
  readonly before: readonly (ShardState | undefined)[]
  readonly after: readonly (ShardState | undefined)[]
  /** Afterwards there are as many shards as are needed to read all of it. */
  readonly isReadable: boolean
  /** Why shards that were to be made are still missing: a sentence. */
  readonly error: string | undefined
  /** Of what is kept in shards, without parity. */
  readonly dataBytes: number
}

/** A set where it stands in the storage. Numbers from 0. */
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
  /** Shards that were found damaged and are not below their redundancy yet: they are written down within moments. */
  readonly unmarkedShardCount: number
  /** Records that could not be healed at the last try; some may be lost. They are tried again. */
  readonly failingCount: number
  /** Since the start, by what goes on in the background. */
  readonly counts: HealCounts
  /** Asks each folder first whether it still holds its drive. */
  drives(): Promise<readonly DriveStatus[]>
  /**
   * Exact at any instant. Of the groups that these records belong to, by their tables and buckets; of all without them. What lies in
   * another set than its record counts there: each blob for itself, and with its bucket whatever the table.
   */
  amounts(records?: readonly RecordKey[]): Promise<RedundancyReading>
  /** Records with start <= key < end, at most 256, and where to go on. */
  page(
    start: RecordKey,
    end: RecordKey,
  ): Promise<{ readonly keys: readonly RecordKey[]; readonly next: RecordKey | undefined }>
  /** `deep` also reads every shard that is said to be there. Undefined where there is no such record, or it has no shards. */
  heal(key: RecordKey, options: { readonly deep: boolean; readonly dryRun: boolean }): Promise<HealOutcome | undefined>
  /** Whether the bytes of the record are lost for good: made sure of by reading, and never said while a drive is away. */
  isLost(key: RecordKey): Promise<boolean>
  /**
   * Reads every shard of some records, for a quarter of a second or so, and makes anew what is damaged. Resolves with where to go on,
   * undefined at the end.
   */
  scrubSome(from: RecordKey | undefined, signal: AbortSignal): Promise<RecordKey | undefined>
}

/** One set. It is a storage, too. */
export interface RedundantSet extends RedundantStorage {
  /** For ever: 32 hexadecimal digits. */
  readonly id: string
  readonly driveCount: number
  /** So many shards are enough of what is kept with the parity of the set. */
  readonly dataCount: number
}

export interface SetOptions extends StorageBackendOptions {
  /** Names its messages between threads and its drives: unique among the sets of a process, the same in each thread. */
  readonly name: string
  /** Among how many drives, those of other sets included, the memory of the configuration is divided. */
  readonly shareOf: number
  /** Among how many sets the memory for stripes is divided. */
  readonly setCount: number
}

/** A set as a backend. What it says of places is as if it were the only one. */
export interface DriveSet extends StorageBackend {
  /** `deploymentId`: what drives without a format will belong to. Default: a new deployment, or that of the other drives. */
  start(deploymentId?: string): Promise<void>
  /** In the main thread, while it is open. */
  readonly redundant: RedundantSet | undefined
}

export interface SetsService {
  /** Problems as sentences. `endpoints`: of one set. */
  validate(endpoints: readonly string[]): readonly string[]
  /** For `server --dry-run`: see `StorageBackendFactory`. Of one set. */
  check(options: StorageLookOptions): Promise<readonly string[]>
  plan(options: StorageLookOptions): Promise<readonly string[]>
  notLookedAt(options: StorageLookOptions): Promise<readonly string[]>
  peek(options: StorageLookOptions, key: RecordKey): Promise<StoredRecord | undefined>
  /** In every thread with the same options but its own `threads`. Does no I/O before `start`. */
  create(options: SetOptions): DriveSet
  /** What `redundancy` has from now on; undefined at the stop. */
  show(storage: RedundantStorage | undefined): void
}

export interface RedundancyService {
  /** The open storage, in the main thread. Undefined elsewhere, before the start, and where the storage is no set. */
  storage(): RedundantStorage | undefined
}

declare module 'svc/kernel' {
  interface Services {
    sets: SetsService
    redundancy: RedundancyService
  }
}
