/** What caches in front of this server are told, and who keeps their webhooks. */
import type { MaybePromise } from 'svc/kernel'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { Transaction } from 'svc/plugins/storage/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'

export type InvalidationKind = 'path' | 'prefix' | 'glob' | 'regex' | 'tag' | 'domain' | 'all'

/** What caches in front of this server have to forget. A request that names several kinds is told as several invalidations of one id. */
export interface Invalidation {
  /** Of the request, as the Admin API shows it; empty for a change of an object. */
  readonly id: string
  /** Undefined: every distribution. */
  readonly distribution: string | undefined
  readonly kind: InvalidationKind
  /**
   * `path`: decoded, with its leading slash, or an absolute URL, which names one host; `prefix`, `glob`, `regex`: a pattern of decoded paths;
   * `tag`; `domain`: hosts. Empty for `all`.
   */
  readonly items: readonly string[]
  /** Patterns match without regard to case. */
  readonly isCaseInsensitive: boolean
  /** The copies may be served as stale ones. */
  readonly isSoft: boolean
}

/** A contribution to `cache.invalidation`, in every thread: whoever tells invalidations to caches in front of this server. */
export interface InvalidationSubscriber {
  /** Whether changes of objects of this distribution are told at all. Called in commits: synchronous and fast. */
  wants(distribution: string): boolean
  /**
   * An object of the distribution changes: called in that commit, in the storage thread, synchronous and without I/O. What it puts into a
   * queue is durable with the change, or not at all. A throw rolls back the change.
   */
  changed(tx: Transaction, invalidation: Invalidation): void
  /**
   * Somebody has requested it. Called once, in the thread that serves the request, when this node has forgotten what it selects and before
   * the request is acknowledged. A rejection fails the request, which may be repeated.
   */
  requested(invalidation: Invalidation): MaybePromise<void>
}

export type WebhookField = string | number | boolean | Readonly<Record<string, string>>

/** A purge webhook as clients write and read it: its fields, and those of its kind beside them. Secrets are masked in answers. */
export interface WebhookDocument {
  readonly id: string
  readonly type: string
  /** Aliases of the distribution that are behind this cache; empty: all of them. */
  readonly domains?: readonly string[]
  readonly [field: string]: WebhookField | readonly string[] | undefined
}

/** What a transaction that replaces the webhooks of a distribution needs. */
export interface WebhookChange {
  /** As they will be read. */
  readonly after: readonly WebhookDocument[]
  /** False: they are the stored ones already, secrets included. */
  readonly isChange: boolean
  /** Its condition is that nobody else has replaced them meanwhile. */
  apply(tx: TransactionBuilder): void
}

/** The contribution to `cache.webhook`, in every thread: whoever keeps the purge webhooks of distributions. */
export interface CacheWebhooks {
  /** The webhooks of a distribution, secrets masked. */
  webhooks(distribution: Distribution): MaybePromise<readonly WebhookDocument[]>
  /**
   * A masked or missing secret keeps the stored one. Rejects with `invalid_cache_request`, its extra `Field` a JSON Pointer
   * (`/webhooks/0/token`).
   */
  prepare(distribution: Distribution, webhooks: readonly WebhookDocument[]): Promise<WebhookChange>
  /** Invalidations that wait for any webhook of any distribution. */
  queued(): Promise<number>
}
