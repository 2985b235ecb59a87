/**
 * The way of a website through the cache. What is stored is what a path leads to (`Resolution`) and its bytes. Access is decided before, for
 * each request; what operators add to answers is added after.
 */

import { createHash } from 'node:crypto'
import { chain, type MaybePromise } from 'svc/kernel'
import {
  type CacheConfiguration,
  type CacheLookup,
  type CacheOrigin,
  type CacheRequest,
  type CacheService,
  type HeaderLine,
  type OpenedObject,
  type OriginAnswer,
  type PlacedPolicy,
  ReplacedObject,
  type RequestHeaders,
} from 'svc/plugins/cache/api'
import type { Distribution, Visit } from 'svc/plugins/distributions/api'
import type { ObjectVersion } from 'svc/plugins/objects/api'
import { httpDate, quoteEtag } from 'svc/plugins/s3/api'
import type { ReadyBehavior } from './behaviors.ts'
import { contentTypeOf } from './content-types.ts'
import type { AskedCache, KnownTarget } from './known-targets.ts'
import type { FormMaker, Found, Origin, SiteBytes } from './origin.ts'
import { type Asked, type Resolution, type Resolved, resolvePath } from './resolution.ts'
import { unsignedQuery } from './target.ts'

export interface CachedSite {
  /** The policy of a request; undefined where nothing of it is cached. */
  policyOf(visit: Pick<Visit, 'alias'>, behavior: ReadyBehavior): MaybePromise<PlacedPolicy | undefined>
  /** The policy, possibly one that caches nothing. `index`: that of the behavior. */
  placedPolicy(alias: string, index: number): Promise<PlacedPolicy>
  requestOf(host: string, method: string, headers: RequestHeaders, asked: CachedRequest): CacheRequest
  find(visit: SiteVisitor, asked: CachedRequest): MaybePromise<Found>
}

/** The caller: a visit, or the part of one that the cache needs. */
export interface SiteVisitor {
  readonly host: string
  readonly exchange: { readonly request: { readonly method?: string | undefined; readonly headers: RequestHeaders } }
}

export interface CachedRequest extends Asked {
  /** The query with its question mark. */
  readonly query: string
  readonly behavior: ReadyBehavior
  readonly policy: PlacedPolicy
  /** The known target of the URL. */
  readonly known?: KnownTarget | undefined
  /** The purpose of the answer, if it is not the path itself. */
  readonly purpose?: string
}

const noLines: readonly HeaderLine[] = []

const foundHeaders = ({ ageSeconds, detail }: CacheLookup, debug: readonly HeaderLine[]): Found['headers'] => {
  const status = ['Cache-Status', detail] as const
  return ageSeconds === undefined ? [status, ...debug] : [['Age', String(ageSeconds)], status, ...debug]
}

export function createCachedSite(distribution: Distribution, cache: CacheService, origin: Origin): CachedSite {
  const { bucket, pathPrefix } = distribution.origin
  const site: Site = { bucket, prefix: pathPrefix, cache, origin }
  let current: CacheConfiguration | undefined
  /** Policies of the current configuration, by alias and index of the behavior. */
  let policies = new Map<string, Map<number, PlacedPolicy>>()
  const shapes = new WeakMap<PlacedPolicy, WeakMap<ReadyBehavior, string>>()

  function placedPolicy(configuration: CacheConfiguration, alias: string, index: number): PlacedPolicy {
    if (current !== configuration) {
      current = configuration
      policies = new Map()
    }
    let byIndex = policies.get(alias)
    if (byIndex === undefined) {
      byIndex = new Map()
      policies.set(alias, byIndex)
    }
    let policy = byIndex.get(index)
    if (policy === undefined) {
      const { id, createdMs, behaviors } = distribution
      const pathPattern = behaviors[index]?.pathPattern
      policy = configuration.policyOf({ distribution: id, createdMs, alias, pathPattern })
      byIndex.set(index, policy)
    }
    return policy
  }

  /** A digest of all settings that decide where a path leads. */
  function shapeOf(behavior: ReadyBehavior, policy: PlacedPolicy): string {
    let byBehavior = shapes.get(policy)
    if (byBehavior === undefined) {
      byBehavior = new WeakMap()
      shapes.set(policy, byBehavior)
    }
    let shape = byBehavior.get(behavior)
    if (shape === undefined) {
      const { indexDocument, spaFallback } = behavior
      const parts = JSON.stringify([bucket, pathPrefix, indexDocument, spaFallback, policy.digest])
      shape = createHash('sha256').update(parts).digest('base64url')
      byBehavior.set(behavior, shape)
    }
    return shape
  }

  function askedFor(
    host: string,
    { path, query, versionId, behavior, policy, purpose = '' }: CachedRequest,
  ): AskedCache {
    const common = shapeOf(behavior, policy)
    const shape = versionId === undefined && purpose === '' ? common : `${common} ${versionId ?? ''} ${purpose}`
    const key = { space: distribution.id, shape, host, path, query: unsignedQuery(query) }
    return { host, policy, key, kept: {} }
  }

  function requestOf(host: string, method: string, headers: RequestHeaders, asked: CachedRequest): CacheRequest {
    const { policy, known } = asked
    let found = known?.asked
    if (found?.policy !== policy || found.host !== host) {
      found = askedFor(host, asked)
      if (known !== undefined) known.asked = found
    }
    return { method, headers, key: found.key, policy, honorsDirectives: false, kept: found.kept }
  }

  return {
    policyOf({ alias }, { index }) {
      return chain(cache.configuration(), read => {
        const policy = placedPolicy(read, alias, index)
        return policy.isOff ? undefined : policy
      })
    },

    placedPolicy: async (alias, index) => placedPolicy(await cache.configuration(), alias, index),

    requestOf,

    find(visit, asked) {
      const { method, headers } = visit.exchange.request
      const request = requestOf(visit.host, method as string, headers, asked)
      return chain(cache.lookup(request, new SiteOrigin(site, asked)), lookup => {
        const debug = current === undefined ? noLines : cache.debugHeaders(request, current)
        const resolution = lookup.value as Resolution
        const bytes = new CachedBytes(site, lookup, resolution, asked.policy)
        const { result, source } = lookup
        const isKept = result === 'HIT' || result === 'STALE' || result === 'REVALIDATED'
        return { resolution, bytes, cache: result, source, headers: foundHeaders(lookup, debug), isKept }
      })
    },
  }
}

interface Site {
  readonly bucket: string
  readonly prefix: string
  readonly cache: CacheService
  readonly origin: Origin
}

/** Made for each request, and used by few: nothing is prepared. */
class SiteOrigin implements CacheOrigin {
  readonly hasObjects = true
  readonly #site: Site
  readonly #asked: CachedRequest

  constructor(site: Site, asked: CachedRequest) {
    this.#site = site
    this.#asked = asked
  }

  async fetch(): Promise<OriginAnswer> {
    const { bucket, prefix, cache, origin } = this.#site
    const { path, versionId, behavior } = this.#asked
    await cache.watch(bucket)
    const fences: ReturnType<CacheService['fence']>[] = []
    const resolved = await resolvePath({ path, versionId }, behavior, (key, wanted) => {
      fences.push(cache.fence(bucket, prefix + key))
      return origin.find(key, wanted)
    })
    const { version, resolution } = resolved
    return {
      ...headOf(resolved, versionId !== undefined),
      body:
        version && readable(version)
          ? { sizeBytes: version.sizeBytes, read: (start, length) => origin.read(version, start, length) }
          : undefined,
      record: {
        identity: identityOf(bucket, resolution),
        value: resolution,
        fences,
        tags: resolution.object?.tags ?? [],
        isEncrypted: version?.encryption !== undefined,
      },
    }
  }
}

const readable = ({ encryption, system }: ObjectVersion) =>
  encryption?.type !== 'SSE-C' && system.websiteRedirectLocation === undefined

function identityOf(bucket: string, { kind, keys, object }: Resolution): string {
  return object === undefined
    ? `${kind} ${keys.join('\n')}`
    : `${bucket}/${object.key} ${object.versionId} ${object.sequence}`
}

/** The head of an answer for the cache: enough to decide its lifetime. */
function headOf(
  { resolution, version }: Resolved,
  isPinned: boolean,
): { readonly status: number; readonly headers: readonly HeaderLine[] } {
  if (version === undefined) return { status: resolution.kind === 'folder' ? 301 : 404, headers: [] }
  const { system, user } = version
  const headers: HeaderLine[] = [
    ['ETag', quoteEtag(version.etag)],
    ['Last-Modified', httpDate(version.modifiedMs)],
    ['Content-Type', contentTypeOf(version.key, system.contentType)],
  ]
  const control = isPinned ? 'public, max-age=31536000, immutable' : system.cacheControl
  if (control !== undefined) headers.push(['Cache-Control', control])
  if (system.expires !== undefined) headers.push(['Expires', system.expires])
  if (user['cdn-cache-control'] !== undefined) headers.push(['CDN-Cache-Control', user['cdn-cache-control']])
  // What only the owner of a key can read is refused, and nothing of it is kept.
  if (version.encryption?.type === 'SSE-C') return { status: 403, headers: [['Cache-Control', 'no-store']] }
  return { status: system.websiteRedirectLocation === undefined ? 200 : 301, headers }
}

const whole = (bytes: Buffer, source: string): OpenedObject => ({
  data: { kind: 'whole', bytes },
  isCached: true,
  source,
})

class CachedBytes implements SiteBytes {
  readonly #site: Site
  readonly #lookup: CacheLookup
  readonly #resolution: Resolution
  readonly #policy: PlacedPolicy

  constructor(site: Site, lookup: CacheLookup, resolution: Resolution, policy: PlacedPolicy) {
    this.#site = site
    this.#lookup = lookup
    this.#resolution = resolution
    this.#policy = policy
  }

  open(start: number, length: number): ReturnType<SiteBytes['open']> {
    const { body, source } = this.#lookup
    if (Buffer.isBuffer(body)) {
      const isAll = start === 0 && length === body.length
      return whole(isAll ? body : body.subarray(start, start + length), source)
    }
    return body !== undefined && 'open' in body ? body.open(start, length) : whole(Buffer.alloc(0), source)
  }

  form(name: string, make: FormMaker): MaybePromise<Buffer | undefined> {
    const { cache, bucket } = this.#site
    const makeOfWhole = () =>
      make(() =>
        chain(this.open(0, this.#resolution.object?.sizeBytes ?? 0), opened => {
          if (opened === undefined) throw new ReplacedObject()
          return opened.data
        }),
      )
    return cache.derived(identityOf(bucket, this.#resolution), name, makeOfWhole, this.#policy.quota)
  }
}
