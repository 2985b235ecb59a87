/** Fetches pages into the cache of this thread, with the access that the distribution gives and without a visitor. */
import type { MaybePromise } from 'svc/kernel'
import {
  type CacheService,
  type CacheSite,
  ReplacedObject,
  type WarmOutcome,
  type WarmPlace,
} from 'svc/plugins/cache/api'
import type { ObjectData } from 'svc/plugins/objects/api'
import { compileBehaviors, type ReadyBehavior } from './behaviors.ts'
import { type CachedRequest, type CachedSite, createCachedSite } from './cached-site.ts'
import type { Origin } from './origin.ts'
import { decodePath } from './path.ts'
import { compileRedirects } from './redirects.ts'

/** A large object is stored when it is asked for again, and one that has just been written when the write has settled. */
const triesMax = 6
const pauseMs = 20

export interface WarmingServices {
  readonly cache: CacheService
  readonly normalizeKey: (key: string) => string
  readonly originOf: (bucket: string, prefix: string) => Origin
  readonly blocksPublic: (bucket: string) => MaybePromise<boolean>
  readonly sleep: (ms: number) => Promise<void>
}

const skipped = (message: string): WarmOutcome => ({ result: 'skipped', status: 0, bytes: 0, message })
const failed = (status: number, message: string): WarmOutcome => ({ result: 'failed', status, bytes: 0, message })

export function createWarming({
  cache,
  normalizeKey,
  originOf,
  blocksPublic,
  sleep,
}: WarmingServices): CacheSite['warm'] {
  return async (place, targets) => {
    const { distribution } = place
    const { bucket, pathPrefix } = distribution.origin
    const behaviorOf = compileBehaviors(distribution)
    const redirectOf = compileRedirects(distribution.redirects)
    const site = createCachedSite(distribution, cache, originOf(bucket, pathPrefix))

    async function warm(target: string): Promise<WarmOutcome> {
      const mark = target.indexOf('?')
      const query = mark < 0 ? '' : target.slice(mark)
      const path = decodePath(mark < 0 ? target : target.slice(0, mark), normalizeKey)
      if (path === undefined) return failed(400, 'is no path')
      if (redirectOf({ path, query, port: () => '', secure: true, host: place.host }) !== undefined)
        return skipped('is redirected')
      const behavior = behaviorOf(path)
      const refusal = await refusalOf(behavior, bucket)
      if (refusal !== undefined) return refusal
      const policy = await site.policyOf(place, behavior)
      if (policy === undefined) return skipped('its policy caches nothing')
      return fetchInto(site, place, { path, versionId: undefined, query, behavior, policy })
    }

    return Promise.all(targets.map(warm))
  }

  async function refusalOf({ access, methods }: ReadyBehavior, bucket: string): Promise<WarmOutcome | undefined> {
    if (access !== 'public' && access !== 'signed') return skipped(`its access is ${access}`)
    if (!methods.has('GET')) return skipped('its behavior allows no GET')
    return access === 'public' && (await blocksPublic(bucket)) ? failed(403, 'public access is blocked') : undefined
  }

  async function fetchInto(site: CachedSite, place: WarmPlace, asked: CachedRequest): Promise<WarmOutcome> {
    for (let tries = 0; tries < triesMax; tries++) {
      if (tries > 1) await sleep(pauseMs)
      try {
        const found = await site.find(
          { host: place.host, exchange: { request: { method: 'GET', headers: place.headers } } },
          asked,
        )
        if (found.cache === 'BYPASS') return skipped('the cache passes such requests by')
        const { object, kind } = found.resolution
        if (object?.isSealed === true) return skipped('its key is a customer’s')
        const opened = object === undefined ? undefined : await found.bytes.open(0, object.sizeBytes)
        if (object !== undefined && opened === undefined) continue
        if (opened !== undefined) await drain(opened.data)
        if (object === undefined && kind !== 'folder') return failed(404, 'there is no object for it')
        // What must be confirmed at each use is kept, too.
        const isHit = (found.cache === 'HIT' || found.cache === 'REVALIDATED') && opened?.isCached !== false
        if (isHit)
          return {
            result: tries === 0 ? 'hit' : 'fetched',
            status: object === undefined ? 302 : 200,
            bytes: tries === 0 ? 0 : (object?.sizeBytes ?? 0),
            message: '',
          }
      } catch (error) {
        if (!(error instanceof ReplacedObject)) return failed(500, 'it cannot be read')
      }
    }
    return skipped('it was read, and is not to be stored')
  }
}

async function drain(data: ObjectData): Promise<void> {
  if (data.kind === 'whole') return
  try {
    for (let chunk = await data.next(); chunk !== undefined; chunk = await data.next()) chunk.release()
  } finally {
    data.close()
  }
}
