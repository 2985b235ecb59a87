/** Tells the cache how a website would ask it, without a visitor. */
import type { CacheService, CacheSite } from 'svc/plugins/cache/api'
import { compileBehaviors } from './behaviors.ts'
import { createCachedSite } from './cached-site.ts'
import type { Origin } from './origin.ts'
import { decodePath } from './path.ts'
import { readVersionId } from './target.ts'

export function createInspection(
  cache: CacheService,
  normalizeKey: (key: string) => string,
  originOf: (bucket: string, prefix: string) => Origin,
): Pick<CacheSite, 'inspect'> {
  return {
    async inspect({ distribution, alias, host, target, headers }) {
      const mark = target.indexOf('?')
      const query = mark < 0 ? '' : target.slice(mark)
      const path = decodePath(mark < 0 ? target : target.slice(0, mark), normalizeKey)
      if (path === undefined) return undefined
      const { bucket, pathPrefix, versionPinning } = distribution.origin
      const behavior = compileBehaviors(distribution)(path)
      const site = createCachedSite(distribution, cache, originOf(bucket, pathPrefix))
      const policy = await site.placedPolicy(alias, behavior.index)
      const versionId = versionPinning ? readVersionId(query) : undefined
      const isFolder = path.endsWith('/')
      return {
        path,
        behavior: behavior.index,
        bucket,
        key: `${pathPrefix}${path.slice(1)}${isFolder ? (behavior.indexDocument ?? '') : ''}`,
        policy,
        cacheControl: behavior.cacheControl ?? policy.policy.browserCacheControl,
        request: site.requestOf(host, 'GET', headers, { path, query, versionId, behavior, policy }),
      }
    },
  }
}
