/**
 * A tier keeps bytes and knows no rule: lifetimes, purges, fences and checksums are in the head of a record, which the cache writes, and
 * checks whenever it reads one. So a tier that loses, delays or damages records costs hits and never leads to a wrong answer.
 */
import type { Clock, Logger, MaybePromise, Random } from 'svc/kernel'

/** Of a record: bytes of its head. */
export const tierHeadBytesMax = 16 * 1024
/** Of a record: bytes of its body. */
export const tierBodyBytesMax = 1024 * 1024
/** Of a record: bytes of its id. */
export const tierIdBytes = 32

/** Neither buffer is changed after it was given to a tier, or by one, until it is released. */
export interface TierRecord {
  /** At most `tierHeadBytesMax`. */
  readonly head: Buffer
  /** At most `tierBodyBytesMax`. */
  readonly body: Buffer
}

/** A record that a tier has found. */
export interface FoundRecord extends TierRecord {
  /** CRC-32 of these bytes of the body, where the tier had to compute it anyway: the cache need not do so again. */
  readonly bodyCrc?: number
  /** Called at most once, when nobody reads head or body any more, so that their memory may be used again. Never for bytes that are kept. */
  release?(): void
}

export interface TierUsage {
  readonly entries: number
  /** With all that the tier itself needs for them. Never above its budget. */
  readonly bytes: number
  /** Records that gave way to others since the start. */
  readonly evictions: number
}

/**
 * One tier in one thread; every thread that serves has its own, over the same records where the tier is outside of the process. Methods
 * other than `start` and `stop` are called between the two. A rejection, or no answer within 50 ms, is a miss; after 5 failures in a
 * row the cache leaves the tier alone for 10 s. A late answer is a failure where the process had time for it. Errors are sentences without secrets.
 */
export interface CacheTier {
  /** Opens what is ours. Waits for no remote host: records are missing until it answers. */
  start(): Promise<void>
  /** Idempotent; also after a start that failed. */
  stop(): Promise<void>
  /** The record as it was put last, or one that was put before, or undefined. `id` has `tierIdBytes` bytes. */
  get(id: Buffer): MaybePromise<FoundRecord | undefined>
  /** False: not taken. Evicts by itself and never exceeds its budget, not even for a moment. */
  put(id: Buffer, record: TierRecord): MaybePromise<boolean>
  /** Whether it has records of all of these ids now, as far as it knows; they may be gone, or damaged, when they are read. */
  hasAll(ids: readonly Buffer[]): MaybePromise<boolean>
  /** That it is absent is a success. */
  delete(id: Buffer): MaybePromise<void>
  /**
   * For the sweeper: at most `limit` records whose ids come after `after` in the order of the tier, each id once unless it is put
   * meanwhile. Without `after` from the beginning. An empty list is the end. Always empty where the tier cannot list.
   */
  heads(
    after: Buffer | undefined,
    limit: number,
  ): MaybePromise<readonly { readonly id: Buffer; readonly head: Buffer }[]>
  /** Of this thread; of what threads share, in the main thread alone, and nothing in others. */
  usage(): TierUsage
}

export interface CacheTierContext {
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
  /** Of the storage that is cached; empty where it has none. What another deployment has left is none of ours. */
  readonly deploymentId: string
  /** Of the whole node, for a tier that threads share; at least 1 MiB. */
  readonly budgetBytes: number
}

/** A contribution to `cache.tier`, in every thread; its id is the name of the tier in metrics. Tiers are asked in the order of the configuration. */
export interface CacheTierKind {
  /** False: nothing says where it is, and it is left out. */
  readonly isConfigured: boolean
  /** What its configuration allows it to take, for the whole node. */
  readonly budgetBytes: number
  /** Without I/O. */
  create(context: CacheTierContext): CacheTier
}
