/** Invalidations for caches in front of this server, and the webhooks that tell them. */
import type { MaybePromise } from 'svc/kernel'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { Transaction } from 'svc/plugins/storage/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'

export type InvalidationKind = 'path' | 'prefix' | 'glob' | 'regex' | 'tag' | 'domain' | 'all'

/** Copies that caches in front of this server have to drop. A request with several kinds of selectors becomes several invalidations with one id. */
export interface Invalidation {
  /** Id of the request, as the Admin API shows it; empty for a change of an object. */
  readonly id: string
  /** Undefined: every distribution. */
  readonly distribution: string | undefined
  readonly kind: InvalidationKind
  /**
   * `path`: decoded, with its leading slash, or an absolute URL, which names one host; `prefix`, `glob`, `regex`: a pattern of decoded paths;
   * `tag`; `domain`: hosts. Empty for `all`.
   */
  readonly items: readonly string[]
  /** True: patterns match without regard to case. */
  readonly isCaseInsensitive: boolean
  /** True: the copies may still be served as stale ones. */
  readonly isSoft: boolean
}

/** A contribution to `cache.invalidation`, in every thread: it tells invalidations to caches in front of this server. */
export interface InvalidationSubscriber {
  /** Whether changes of objects of this distribution are told at all. Called in commits: synchronous and fast. */
  wants(distribution: string): boolean
  /**
   * An object of the distribution changes. Called in that commit, in the storage thread, synchronous and without I/O. Entries that it puts into a
   * queue are durable with the change, or not at all. A throw rolls back the change.
   */
  changed(tx: Transaction, invalidation: Invalidation): void
  /**
   * An invalidation was requested. Called once, in the thread that serves the request, when the purge is in force on this node and before the request
   * is acknowledged. A rejection fails the request, which may be repeated.
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

/** A change that replaces the webhooks of a distribution, for a transaction. */
export interface WebhookChange {
  /** The webhooks, as they will be read. */
  readonly after: readonly WebhookDocument[]
  /** False: the webhooks are equal to the stored ones, secrets included. */
  readonly isChange: boolean
  /** Adds the change to a transaction, on the condition that nobody else has replaced the webhooks meanwhile. */
  apply(tx: TransactionBuilder): void
}

/** The contribution to `cache.webhook`, in every thread: it keeps the purge webhooks of distributions. */
export interface CacheWebhooks {
  /** The webhooks of a distribution, secrets masked. */
  webhooks(distribution: Distribution): MaybePromise<readonly WebhookDocument[]>
  /**
   * A masked or missing secret keeps the stored one. Rejects with `invalid_cache_request`, its extra `Field` a JSON Pointer
   * (`/webhooks/0/token`).
   */
  prepare(distribution: Distribution, webhooks: readonly WebhookDocument[]): Promise<WebhookChange>
  /** Number of invalidations that wait for a webhook, of all distributions. */
  queued(): Promise<number>
}
