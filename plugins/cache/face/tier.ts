/**
 * A tier stores bytes and knows no rules: lifetimes, purges and checksums are in the head of a record, which the cache writes, and checks whenever it
 * reads one. So a tier that loses, delays or damages records costs hits and never leads to a wrong answer.
 */
import type { Clock, Logger, MaybePromise, Random } from 'svc/kernel'

/** Most bytes of a record's head. */
export const tierHeadBytesMax = 16 * 1024
/** Most bytes of a record's body. */
export const tierBodyBytesMax = 1024 * 1024
/** Bytes of a record's id. */
export const tierIdBytes = 32

/** Neither buffer is changed after it was passed to a tier, or returned by one, until it is released. */
export interface TierRecord {
  /** At most `tierHeadBytesMax`. */
  readonly head: Buffer
  /** At most `tierBodyBytesMax`. */
  readonly body: Buffer
}

/** A record that a tier has found. */
export interface FoundRecord extends TierRecord {
  /** CRC-32 of the body, if the tier has computed it anyway: then the cache need not. */
  readonly bodyCrc?: number
  /** Called at most once, when nobody reads head or body any more: the tier may then reuse their memory. Not called for bytes that are kept. */
  release?(): void
}

export interface TierUsage {
  readonly entries: number
  /** Bytes of the records with all overhead of the tier. Never above its budget. */
  readonly bytes: number
  /** Number of records that were evicted since the start. */
  readonly evictions: number
}

/**
 * One tier in one thread; every thread that serves has its own, over the same records if the tier is outside of the process. Methods other than
 * `start` and `stop` are called between the two. A rejection, or no answer within 50 ms, is a miss; after 5 failures in a row the cache does not call
 * the tier for 10 s. A late answer is a failure if the process had time for it. Errors are sentences without secrets.
 */
export interface CacheTier {
  /** Opens the tier's own files. Does not wait for a remote host: until it answers, all records are missing. */
  start(): Promise<void>
  /** Idempotent; also after a start that failed. */
  stop(): Promise<void>
  /** The record that was put last, or an earlier one, or undefined. `id` has `tierIdBytes` bytes. */
  get(id: Buffer): MaybePromise<FoundRecord | undefined>
  /** Stores a record. False: it was not taken. Evicts by itself and never exceeds its budget, not even for a moment. */
  put(id: Buffer, record: TierRecord): MaybePromise<boolean>
  /** Whether it has records of all of these ids now, as far as it knows; they may be gone, or damaged, when they are read. */
  hasAll(ids: readonly Buffer[]): MaybePromise<boolean>
  /** Deletes a record. Succeeds if there is none. */
  delete(id: Buffer): MaybePromise<void>
  /**
   * For the sweeper: at most `limit` records whose ids come after `after` in the order of the tier, each id once unless it is put meanwhile. Without
   * `after` from the beginning. An empty list is the end. Always empty if the tier cannot list.
   */
  heads(
    after: Buffer | undefined,
    limit: number,
  ): MaybePromise<readonly { readonly id: Buffer; readonly head: Buffer }[]>
  /** Usage by this thread. If threads share the tier, the main thread reports all of it, and other threads nothing. */
  usage(): TierUsage
}

export interface CacheTierContext {
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** Id of the deployment whose storage is cached; empty if it has none. Records that another deployment has left are not used. */
  readonly deploymentId: string
  /** Budget of the whole node, if threads share the tier; at least 1 MiB. */
  readonly budgetBytes: number
}

/** A contribution to `cache.tier`, in every thread; its id is the name of the tier in metrics. Tiers are asked in the order of the configuration. */
export interface CacheTierKind {
  /** False: the configuration does not say where the tier is, so it is left out. */
  readonly isConfigured: boolean
  /** The budget in its configuration, for the whole node. */
  readonly budgetBytes: number
  /** Makes the tier, without I/O. */
  create(context: CacheTierContext): CacheTier
}
