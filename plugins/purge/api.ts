/**
 * Purge webhooks: tell caches in front of the server (a CDN, a proxy) what they have to forget.
 *
 * Each webhook of a distribution is a lane: a persistent queue, delivered in the main thread. Guarantees:
 *
 * 1. A change of an object and its invalidation are durable together, or not at all.
 * 2. A webhook is never told less than was asked for. What its kind cannot express is widened, and its status says so.
 * 3. What was given up is made good: the next delivery that succeeds is followed by a purge of everything, which is tried until it was taken. Where it
 *    fails, the others go on.
 * 4. Requests go to public addresses, and to networks in `SVC_CACHE_WEBHOOK_ALLOW`. Redirects are not followed.
 * 5. No secret of a webhook is in an answer, an error or the log.
 */
import type { Clock, Logger, MaybePromise, ObjectOf, Random } from 'svc/kernel'
import type { CacheWebhooks, InvalidationSubscriber } from 'svc/plugins/cache/api'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { HttpClientAnswer, HttpClientRequest } from 'svc/plugins/http-client/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { TObject } from 'typebox'

export type { WebhookDocument, WebhookField } from 'svc/plugins/cache/api'
export { pause } from './bucket.ts'
export { CallFailure, failureOf } from './call-failure.ts'
export { purgeErrors } from './errors.ts'
export { encodePath, schemesOf, urlsOf } from './urls.ts'

/** One purge. Paths are decoded and have their leading slash; `host` is in lower case, without port. */
export type PurgeOperation = (
  | { readonly kind: 'url'; readonly host: string; readonly path: string }
  | { readonly kind: 'prefix'; readonly host: string; readonly path: string }
  | {
      readonly kind: 'pattern'
      readonly host: string
      readonly type: 'prefix' | 'glob' | 'regex'
      readonly pattern: string
      readonly isCaseInsensitive: boolean
      /** The beginning of every path that matches; `/` where nothing more is known. */
      readonly literal: string
    }
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'domain'; readonly host: string }
  | { readonly kind: 'all' }
) & {
  /** Copies may be served as stale ones. A kind without this forgets them. */
  readonly isSoft: boolean
}

/** The hosts of the webhook, at this moment. */
export interface PurgeSite {
  readonly distribution: string
  /** Exact names. */
  readonly hosts: readonly string[]
}

/** One request to the cache in front, made by `plan` and understood by `send`. */
export interface PurgeCall {
  /** A summary for the log, such as `3 files`. */
  readonly summary: string
  /** Takes from the second budget of the kind. */
  readonly isSlow?: boolean
  /** Why the settings do not allow it, as a sentence for operators. It is not sent: what it would purge is given up, the other calls are made. A refusal by `send` gives up the whole batch. */
  readonly problem?: string
  readonly data: unknown
}

export interface PurgePlan {
  readonly calls: readonly PurgeCall[]
  /** Operations that the call widens because the cache in front cannot do less, as clauses: `the prefix /a/ as everything`. */
  readonly widened: readonly string[]
}

/** A connected webhook. Errors are sentences without secrets; see `CallFailure`. */
export interface PurgeWebhook {
  /** Pure. Selects at least what the operations select; a call has at most as many items as the cache in front takes. */
  plan(operations: readonly PurgeOperation[], site: PurgeSite): PurgePlan
  /** Resolves when the cache in front has taken the call. After `signal` is aborted it rejects within a second. */
  send(call: PurgeCall, signal: AbortSignal): Promise<void>
  /** Resolves within a second. Idempotent. */
  close(): Promise<void>
}

/** Calls per second on average, and at once. */
export interface PurgeBudget {
  readonly perSecond: number
  readonly burst: number
}

export interface PurgeWebhookContext {
  /** The only way out: addresses are checked at each connection, within 10 s, answers of at most 64 KiB. */
  request(request: HttpClientRequest): Promise<HttpClientAnswer>
  readonly distribution: string
  readonly log: Logger
  readonly clock: Clock
  readonly random: Random
}

/** A kind of webhook, a contribution to `purge.webhook`; its id is the `type` of webhooks. Contributed in every thread. */
export interface PurgeWebhookKind<Schema extends TObject> {
  /** A sentence for operators. */
  readonly description: string
  /**
   * Flat fields of the webhook's document: texts, numbers, booleans, and maps of texts. Those with `secret: true` are texts, sealed at rest and
   * masked in answers. A change of a field with `destination: true` needs the secrets again. Where the host of one is a placeholder in braces,
   * a webhook with secrets must name `domains`, which count as destinations, and operations have no other hosts.
   */
  readonly settings: Schema
  /**
   * Checks that the schema cannot express. Without I/O. `urlProblem`: why a URL cannot be asked, as far as it shows without looking up
   * names, as a phrase that follows the name of a field (`must be …`).
   */
  validate?(settings: ObjectOf<Schema>, urlProblem: (url: string) => string | undefined): readonly SettingsProblem[]
  readonly limits: PurgeBudget & { readonly slow?: PurgeBudget }
  /** The header of answers by which the cache in front knows tags. */
  tagHeader?(tags: readonly string[]): readonly [name: string, value: string]
  /** Called in the main thread when the webhook is set up or changes. Must neither wait nor throw. */
  connect(settings: ObjectOf<Schema>, context: PurgeWebhookContext): PurgeWebhook
}

// biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings, which only it and the schema know
export type AnyPurgeWebhookKind = PurgeWebhookKind<any>

export interface WebhookStatus {
  readonly id: string
  readonly type: string
  readonly domains: readonly string[]
  /** Empty where the kind has a fixed address. Without user, password and query. */
  readonly url: string
  /** No attempt has failed since the last success. */
  /** Undefined: nothing was sent yet. */
  readonly online: boolean | undefined
  readonly queued: number
  /** Since the start, as the following: entries of the queue. */
  readonly deliveredTotal: number
  readonly failedTotal: number
  /** Milliseconds since 1970. */
  readonly lastAttemptMs: number | undefined
  readonly lastSuccessMs: number | undefined
  readonly lastError: string
  /** The operations that the last delivery widened; empty if none. */
  readonly lastWidened: string
  /** Something was given up, and everything was not purged since. Where that is refused, `lastError` says why. */
  readonly owesAll: boolean
}

export interface WebhookTestOutcome {
  readonly webhook: string
  readonly delivered: boolean
  /** HTTP status of the last answer; 0 if there was none. */
  readonly status: number
  readonly error: string
  readonly durationMs: number
}

/**
 * In every thread. Errors are `purgeErrors`. The methods of `InvalidationSubscriber` and `CacheWebhooks` are those of the contributions to
 * `cache.invalidation` and `cache.webhook`, for plugins that know of changes which the cache does not see.
 */
export interface PurgeService extends InvalidationSubscriber, CacheWebhooks {
  status(distribution: Distribution): Promise<readonly WebhookStatus[]>
  /** Purges one URL now, not through the queue: by default the root of the first exact alias. Rejects with `webhook_not_found`. */
  test(distribution: Distribution, webhook: string, url?: string): Promise<WebhookTestOutcome>
  /** The headers by which caches in front of the distribution know the tags of an answer. */
  tagHeaders(distribution: Distribution, tags: readonly string[]): MaybePromise<readonly (readonly [string, string])[]>
}

declare module 'svc/kernel' {
  interface Services {
    purge: PurgeService
  }
  interface ExtensionPoints {
    'purge.webhook': AnyPurgeWebhookKind
  }
}
