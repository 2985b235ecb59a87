/**
 * The way of a website through the cache. What is stored is what a path leads to (`Resolution`) and its bytes. Access is decided before, for
 * each request; what operators add to answers is added after.
 */

import { createHash } from 'node:crypto'
import type { MaybePromise } from 'svc/kernel'
import type {
  CacheConfiguration,
  CacheLookup,
  CacheOrigin,
  CacheRequest,
  CacheService,
  HeaderLine,
  PlacedPolicy,
  RequestHeaders,
} from 'svc/plugins/cache/api'
import type { Distribution, Visit } from 'svc/plugins/distributions/api'
import type { ObjectData, ObjectVersion } from 'svc/plugins/objects/api'
import { httpDate, quoteEtag } from 'svc/plugins/s3/api'
import type { ReadyBehavior } from './behaviors.ts'
import { contentTypeOf } from './content-types.ts'
import type { Found, Origin, SiteBytes } from './origin.ts'
import { type Asked, type Resolution, type Resolved, resolvePath } from './resolution.ts'
import { unsignedQuery } from './target.ts'

export interface CachedSite {
  /** The policy of a request; undefined where nothing of it is cached. */
  policyOf(visit: Pick<Visit, 'alias'>, behavior: ReadyBehavior): MaybePromise<PlacedPolicy | undefined>
  /** Also one by which nothing is cached. `index`: of the behavior. */
  placedPolicy(alias: string, index: number): Promise<PlacedPolicy>
  requestOf(host: string, method: string, headers: RequestHeaders, asked: CachedRequest): CacheRequest
  find(visit: Visit, asked: CachedRequest): Promise<Found>
}

export interface CachedRequest extends Asked {
  /** With its question mark. */
  readonly query: string
  readonly behavior: ReadyBehavior
  readonly policy: PlacedPolicy
  /** What the answer is for, where it is not the path itself. */
  readonly purpose?: string
}

const foundHeaders = (lookup: CacheLookup): Found['headers'] => {
  const headers: (readonly [string, string])[] = []
  if (lookup.ageSeconds !== undefined) headers.push(['Age', String(lookup.ageSeconds)])
  headers.push(['Cache-Status', lookup.detail])
  return headers
}

export function createCachedSite(distribution: Distribution, cache: CacheService, origin: Origin): CachedSite {
  const { bucket, pathPrefix } = distribution.origin
  let known: { readonly configuration: CacheConfiguration; readonly policies: Map<string, PlacedPolicy> } | undefined
  const shapes = new WeakMap<PlacedPolicy, WeakMap<ReadyBehavior, string>>()

  function placedPolicy(configuration: CacheConfiguration, alias: string, index: number): PlacedPolicy {
    if (known?.configuration !== configuration) known = { configuration, policies: new Map() }
    const place = `${index} ${alias}`
    let policy = known.policies.get(place)
    if (policy === undefined) {
      const { id, createdMs, behaviors } = distribution
      const pathPattern = behaviors[index]?.pathPattern
      policy = configuration.policyOf({ distribution: id, createdMs, alias, pathPattern })
      known.policies.set(place, policy)
    }
    return policy
  }

  /** Of all settings that decide what a path leads to. */
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

  function requestOf(host: string, method: string, headers: RequestHeaders, asked: CachedRequest): CacheRequest {
    const { path, query, versionId, behavior, policy, purpose = '' } = asked
    const shape = `${shapeOf(behavior, policy)} ${versionId ?? ''} ${purpose}`
    const key = { space: distribution.id, shape, host, path, query: unsignedQuery(query) }
    return { method, headers, key, policy, honorsDirectives: false }
  }

  return {
    policyOf({ alias }, { index }) {
      const configuration = cache.configuration()
      const policyIn = (read: CacheConfiguration) => {
        const policy = placedPolicy(read, alias, index)
        return policy.isOff ? undefined : policy
      }
      return configuration instanceof Promise ? configuration.then(policyIn) : policyIn(configuration)
    },

    placedPolicy: async (alias, index) => placedPolicy(await cache.configuration(), alias, index),

    requestOf,

    async find(visit, asked) {
      const { method, headers } = visit.exchange.request
      const request = requestOf(visit.host, method as string, headers, asked)
      const lookup = await cache.lookup(request, createSiteOrigin(cache, bucket, pathPrefix, origin, asked))
      const resolution = lookup.value as Resolution
      return {
        resolution,
        bytes: bytesOf(lookup, resolution, bucket, cache),
        cache: lookup.result,
        headers: [...foundHeaders(lookup), ...cache.debugHeaders(request)],
      }
    },
  }
}

function createSiteOrigin(
  cache: CacheService,
  bucket: string,
  prefix: string,
  origin: Origin,
  { behavior, ...asked }: CachedRequest,
): CacheOrigin {
  return {
    hasObjects: true,
    async fetch() {
      await cache.watch(bucket)
      const fences: ReturnType<CacheService['fence']>[] = []
      const resolved = await resolvePath(asked, behavior, (key, versionId) => {
        fences.push(cache.fence(bucket, prefix + key))
        return origin.find(key, versionId)
      })
      const { version, resolution } = resolved
      return {
        ...headOf(resolved, asked.versionId !== undefined),
        body:
          version && readable(version)
            ? { sizeBytes: version.sizeBytes, read: (start, length) => origin.read(version, start, length) }
            : undefined,
        record: {
          identity: identityOf(bucket, resolution),
          value: resolution,
          fences,
          tags: resolution.object?.tags ?? [],
        },
      }
    },
  }
}

const readable = ({ encryption, system }: ObjectVersion) =>
  encryption?.type !== 'SSE-C' && system.websiteRedirectLocation === undefined

function identityOf(bucket: string, { kind, keys, object }: Resolution): string {
  return object === undefined
    ? `${kind} ${keys.join('\n')}`
    : `${bucket}/${object.key} ${object.versionId} ${object.sequence}`
}

/** What the cache is told of an answer: enough for its lifetime. */
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

function bytesOf({ body }: CacheLookup, resolution: Resolution, bucket: string, cache: CacheService): SiteBytes {
  const whole = (bytes: Buffer): ObjectData => ({ kind: 'whole', bytes })
  const open: SiteBytes['open'] = (start, length) => {
    if (Buffer.isBuffer(body)) {
      const isAll = start === 0 && length === body.length
      return { data: whole(isAll ? body : body.subarray(start, start + length)), isCached: true }
    }
    return body !== undefined && 'open' in body
      ? body.open(start, length)
      : { data: whole(Buffer.alloc(0)), isCached: true }
  }
  return {
    open,
    form: (name, make) =>
      cache.derived(identityOf(bucket, resolution), name, () =>
        make(async () => {
          const opened = await open(0, resolution.object?.sizeBytes ?? 0)
          if (opened === undefined) throw new ReplacedObject()
          return opened.data
        }),
      ),
  }
}

/** The object was replaced between the look-up and the read; what it is now can be looked up. */
export class ReplacedObject extends Error {}
