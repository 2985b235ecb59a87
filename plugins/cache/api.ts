/** The cache of answers, its tiers, and the contributions that it takes from other plugins. */
import type { MaybePromise } from 'svc/kernel'
import type { CacheAnswer, CacheLookup, CacheOrigin, CacheRequest, CacheResult, HeaderLine } from './face/answers.ts'
import type { CacheDocumentsService } from './face/documents.ts'
import type { CacheWebhooks, InvalidationSubscriber } from './face/invalidation.ts'
import type { CacheSite } from './face/site.ts'
import type { CacheTierKind, TierUsage } from './face/tier.ts'
import type { Fence } from './fence/fences.ts'
import type { Quota } from './policy/policy.ts'
import type { CacheConfiguration } from './settings/configuration.ts'

export { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from './admin/schemas.ts'
export type {
  CacheAnswer,
  CachedObject,
  CacheLookup,
  CacheOrigin,
  CacheRequest,
  CacheResult,
  HeaderLine,
  OpenedObject,
  OriginAnswer,
  OriginObject,
  OriginRecord,
  RequestHeaders,
} from './face/answers.ts'
export type { CacheChanges, CacheDocumentsService, StagedCache, StagedDocuments } from './face/documents.ts'
export type {
  CacheWebhooks,
  Invalidation,
  InvalidationKind,
  InvalidationSubscriber,
  WebhookChange,
  WebhookDocument,
  WebhookField,
} from './face/invalidation.ts'
export type { CacheSite, InspectedRequest, InspectedSite, WarmOutcome, WarmPlace } from './face/site.ts'
export type { CacheTier, CacheTierContext, CacheTierKind, FoundRecord, TierRecord, TierUsage } from './face/tier.ts'
export { tierBodyBytesMax, tierHeadBytesMax, tierIdBytes } from './face/tier.ts'
export type { Fence } from './fence/fences.ts'
export { Sieve } from './memory/sieve.ts'
export type { KeyRequest } from './policy/key.ts'
export {
  type CacheLevel,
  type CachePolicy,
  type EffectivePolicy,
  type LevelSettings,
  type Quota,
  resolvePolicy,
} from './policy/policy.ts'
export { ReplacedObject } from './replaced-object.ts'

export type { CacheConfiguration, PlacedPolicy, PolicyPlace } from './settings/configuration.ts'

/** One answer of a distribution, for statistics. */
export interface Served {
  readonly distribution: string
  readonly alias: string
  readonly path: string
  readonly result: CacheResult
  readonly sentBytes: number
  /** Where its bytes were: `memory`, the name of a tier, or `origin`. */
  readonly source: string
}

/** The service `cache`: in every thread, each with a memory of its own. Answers from memory are returned at once, without a promise. */
export interface CacheService {
  /**
   * Answers a request from the cache, or from the origin; that answer is stored if it may be. The caller has checked that the visitor may have the
   * answer. Rejects with the error of the origin.
   */
  serve(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheAnswer>
  /** Like `serve` for GET and HEAD, but leaves conditions, ranges and the form of the body to the caller. */
  lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup>
  /**
   * Bytes that are computed from an identity and a form, such as a compressed body: from the cache, or from `make`. Undefined if `make` resolves with
   * undefined (there are none) or null (not now).
   */
  derived(
    identity: string,
    form: string,
    make: () => Promise<Buffer | undefined | null>,
    /** The quota that counts the bytes. */
    quota?: Quota,
  ): MaybePromise<Buffer | undefined>
  /** Resolves when changes of the bucket's objects are counted in every thread. Must be awaited before fences of the bucket are taken. */
  watch(bucket: string): MaybePromise<void>
  /** Takes a fence. Must be called before the key is read. */
  fence(bucket: string, key: string): Fence
  /** Fields for operators: `X-Cache-Key` and `X-Cache-Policy` for requests with the debug secret, `X-Cache-Node` if that is on. */
  debugHeaders(request: CacheRequest, configuration: CacheConfiguration): readonly HeaderLine[]
  /** Counts an answer, when it has been sent. */
  served(served: Served): void
  /** The settings of operators, as of the last acknowledged change. */
  configuration(): MaybePromise<CacheConfiguration>
  usage(): TierUsage
}

declare module 'svc/kernel' {
  interface Services {
    cache: CacheService
    cacheDocuments: CacheDocumentsService
  }
  interface ExtensionPoints {
    'cache.tier': CacheTierKind
    'cache.invalidation': InvalidationSubscriber
    'cache.site': CacheSite
    'cache.webhook': CacheWebhooks
  }
}
