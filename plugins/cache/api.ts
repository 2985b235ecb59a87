/**
 * The cache of answers, and its tiers.
 *
 * A tier keeps bytes and knows no rule: lifetimes, purges, fences and checksums are in the head of a record, which the cache writes, and
 * checks whenever it reads one. So a tier that loses, delays or damages records costs hits and never leads to a wrong answer.
 */
import type { Clock, Logger, MaybePromise, Random } from 'svc/kernel'
import type { Distribution } from 'svc/plugins/distributions/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import type { Transaction } from 'svc/plugins/storage/api'
import type { TransactionBuilder } from 'svc/plugins/store/api'
import type { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from './admin/schemas.ts'
import type { Fence } from './fence/fences.ts'
import type { KeyRequest } from './policy/key.ts'
import type { EffectivePolicy, Quota } from './policy/policy.ts'
import type { CacheConfiguration, PlacedPolicy } from './settings/configuration.ts'

export { CachePolicyInput, CacheSettingsInput, DistributionCacheInput } from './admin/schemas.ts'
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

export type { CacheConfiguration, PlacedPolicy, PolicyPlace } from './settings/configuration.ts'

/** Of a record: bytes of its head. */
export const tierHeadBytesMax = 16 * 1024
/** Of a record: bytes of its body. */
export const tierBodyBytesMax = 1024 * 1024
/** Of a record: bytes of its id. */
export const tierIdBytes = 32

/** Neither buffer is changed after it was given to a tier or by one. */
export interface TierRecord {
  /** At most `tierHeadBytesMax`. */
  readonly head: Buffer
  /** At most `tierBodyBytesMax`. */
  readonly body: Buffer
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
 * other than `start` and `stop` are called between the two. A rejection, or no answer within 50 ms, is a miss; after 5 in a row the cache
 * leaves the tier alone for 10 s. Errors are sentences without secrets.
 */
export interface CacheTier {
  /** Opens what is ours. Waits for no remote host: records are missing until it answers. */
  start(): Promise<void>
  /** Idempotent; also after a start that failed. */
  stop(): Promise<void>
  /** The record as it was put last, or one that was put before, or undefined. `id` has `tierIdBytes` bytes. */
  get(id: Buffer): MaybePromise<TierRecord | undefined>
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

/** A field of a message and its value; several lines of one field are several of these. */
export type HeaderLine = readonly [name: string, value: string]
/** Values by lower-case name, as `IncomingMessage.headers` has them. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

export interface CacheRequest {
  readonly method: string
  /** Of the visitor. */
  readonly headers: RequestHeaders
  /** What its key is made of, beside headers and cookies. */
  readonly key: Omit<KeyRequest, 'header' | 'cookie'>
  readonly policy: EffectivePolicy
  /** Whether the visitor's `Cache-Control` and `Pragma` count. */
  readonly honorsDirectives: boolean
}

/** Bytes that can be read from any place, for as long as whoever has it reads on. */
export interface OriginObject {
  readonly sizeBytes: number
  /** Bytes start <= i < start+length. The first call comes at once, while the object is what it was. */
  read(start: number, length: number): MaybePromise<ObjectData>
}

/** Of origins that have objects: what an answer is made of, beside its bytes. */
export interface OriginRecord {
  /** Two answers with the same identity have the same bytes, status and value. */
  readonly identity: string
  /** Kept with the bytes and handed out with them; plain JSON of bounded size. */
  readonly value: unknown
  /** Of all keys that it depends on, present or absent, each taken before its key was read. */
  readonly fences: readonly Fence[]
  /** That purges may name. */
  readonly tags: readonly string[]
  /** Its bytes are encrypted where they are stored: outside of the memory of the process they lie encrypted, or not at all. */
  readonly isEncrypted?: boolean
}

export interface OriginAnswer {
  readonly status: number
  readonly headers: readonly HeaderLine[]
  /** A stream ends with an error where it is cut off; leaving its loop closes it. Undefined: none. */
  readonly body: AsyncIterable<Uint8Array> | OriginObject | undefined
  readonly record?: OriginRecord
}

/** Where answers come from. */
export interface CacheOrigin {
  /** All of its answers have a record, and ranges are the caller's matter. */
  readonly hasObjects?: boolean
  /**
   * `headers` are the visitor's end-to-end fields, with conditions of the cache in the place of the visitor's. Rejects where the origin
   * cannot be reached.
   */
  fetch(request: { readonly method: string; readonly headers: RequestHeaders }): Promise<OriginAnswer>
}

/** Value of `X-Cache`. */
export type CacheResult = 'HIT' | 'MISS' | 'STALE' | 'EXPIRED' | 'REVALIDATED' | 'BYPASS'

export interface CacheAnswer {
  readonly status: number
  /** With `X-Cache`, `Cache-Status` and, of what is from the cache, `Age`. */
  readonly headers: readonly HeaderLine[]
  /** A stream that nobody reads must be closed by its `return`. */
  readonly body: Buffer | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
}

/** An answer as it is stored, or as the origin has given it: without regard to conditions and ranges. */
export interface CacheLookup {
  readonly status: number
  /** Of the origin. Empty where `value` has what they say. */
  readonly lines: readonly HeaderLine[]
  readonly body: Buffer | CachedObject | AsyncIterable<Uint8Array> | undefined
  readonly result: CacheResult
  /** Value of `Cache-Status`. */
  readonly detail: string
  /** Undefined: not from the cache. */
  readonly ageSeconds: number | undefined
  /** Of `OriginRecord`. */
  readonly value: unknown
  /** `memory`, the name of a tier, or `origin`. An object that is read in blocks says it when it is opened. */
  readonly source: string
}

export interface CachedObject {
  readonly sizeBytes: number
  /**
   * Bytes start <= i < start+length, of one version of the object. `isCached`: all of them were in the cache. Undefined: the object has been
   * replaced and its bytes are gone; a lookup finds what it is now.
   */
  open(start: number, length: number): MaybePromise<OpenedObject | undefined>
}

export interface OpenedObject {
  readonly data: ObjectData
  readonly isCached: boolean
  /** Of all that is needed: `memory`, the name of the tier that has what memory lacks, or `origin`. */
  readonly source: string
}

/** One answer of a distribution, for statistics. */
export interface Served {
  readonly distribution: string
  readonly alias: string
  readonly path: string
  readonly result: CacheResult
  readonly sentBytes: number
  /** Of its bytes: `memory`, the name of a tier, or `origin`. */
  readonly source: string
}

/** In every thread, each with a memory of its own. What needs nothing but memory is answered at once, without a promise. */
export interface CacheService {
  /**
   * Answers a request from the cache, or from the origin and stores that answer if it may. Who asks has decided that the visitor may have
   * it. Rejects with what the origin rejects with.
   */
  serve(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheAnswer>
  /** The same for GET and HEAD, leaving conditions, ranges and the form of the body to the caller. */
  lookup(request: CacheRequest, origin: CacheOrigin): MaybePromise<CacheLookup>
  /**
   * Bytes that are a function of an identity and a form, such as its compressed body: kept in the cache, or made. Undefined where `make`
   * has none, and where it says null: not now.
   */
  derived(
    identity: string,
    form: string,
    make: () => Promise<Buffer | undefined | null>,
    /** That counts them. */
    quota?: Quota,
  ): MaybePromise<Buffer | undefined>
  /** Resolves when changes of the bucket's objects are counted, in every thread: before fences of it are taken. */
  watch(bucket: string): MaybePromise<void>
  /** To be taken before the key is read. */
  fence(bucket: string, key: string): Fence
  /** Fields for operators: `X-Cache-Key` and `X-Cache-Policy` for who has the debug secret, `X-Cache-Node` where that is on. */
  debugHeaders(request: CacheRequest, configuration: CacheConfiguration): readonly HeaderLine[]
  /** Counts an answer, when it has been sent. */
  served(served: Served): void
  /** What operators have set, as of the last acknowledged change. */
  configuration(): MaybePromise<CacheConfiguration>
  usage(): TierUsage
}

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

/** Of one kind, by name. */
export interface StagedDocuments<Content> {
  /** As they are. */
  readonly before: ReadonlyMap<string, Content>
  /** Of those that are wanted, as they will be. */
  readonly after: ReadonlyMap<string, Content>
  readonly changed: ReadonlySet<string>
  /** Why one cannot be stored. */
  readonly errors: ReadonlyMap<string, Error>
}

/** `null` removes. */
export interface CacheChanges {
  readonly policies: ReadonlyMap<string, CachePolicyInput | null>
  /** Undefined: they stay. */
  readonly settings: CacheSettingsInput | undefined
  readonly distributions: ReadonlyMap<string, DistributionCacheInput | null>
  /** As they will be. */
  readonly sites: ReadonlyMap<string, Distribution>
}

export interface StagedCache {
  readonly policies: StagedDocuments<CachePolicyInput>
  /** Its only name is `cluster`. */
  readonly settings: StagedDocuments<CacheSettingsInput>
  readonly distributions: StagedDocuments<DistributionCacheInput>
  /** All changes, on the condition that no settings have changed meanwhile. Only where there are no errors. */
  apply(tx: TransactionBuilder): void
}

/** What operators have set, as documents that clients write. Secrets are masked, and stay when they are sent back. */
export interface CacheDocumentsService {
  /** With no changes `before` is all there is. */
  stage(changes: CacheChanges): Promise<StagedCache>
}

/** A URL as a visitor would send it. */
export interface InspectedRequest {
  readonly distribution: Distribution
  readonly alias: string
  /** Without port. */
  readonly host: string
  /** Path and query, as they stand in a URL. */
  readonly target: string
  readonly headers: RequestHeaders
}

export interface InspectedSite {
  /** Decoded. */
  readonly path: string
  readonly behavior: number
  readonly bucket: string
  /** That the path names; the index document or a fallback may be what answers. */
  readonly key: string
  readonly policy: PlacedPolicy
  readonly cacheControl: string
  readonly request: CacheRequest
}

export interface WarmPlace {
  readonly distribution: Distribution
  readonly alias: string
  readonly host: string
  readonly headers: RequestHeaders
}

/** Of one target: it is in the cache now (`fetched`), or was (`hit`), is not for the cache (`skipped`), or cannot be had. */
export interface WarmOutcome {
  readonly result: 'fetched' | 'hit' | 'skipped' | 'failed'
  /** Of HTTP; 0 where there is none. */
  readonly status: number
  readonly bytes: number
  /** Without subject; empty where it is in the cache. */
  readonly message: string
}

/** A contribution to `cache.site`: a mode of distributions that answers through the cache. Its id is the mode. */
export interface CacheSite {
  /** How the site would ask the cache. Undefined: it would refuse the path. */
  inspect(asked: InspectedRequest): Promise<InspectedSite | undefined>
  /** Fetches paths and queries, as they stand in URLs, into the cache of this thread; all at once. */
  warm(place: WarmPlace, targets: readonly string[]): Promise<readonly WarmOutcome[]>
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
