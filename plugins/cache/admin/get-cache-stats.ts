import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { visibleDistributions } from './visible-distributions.ts'

const Count = Type.Integer()
const Counts = Type.Record(Type.String(), Count, { description: 'By the value of X-Cache.' })
const Ratio = Type.Number({ description: 'HIT, STALE and REVALIDATED of all but BYPASS.' })
const Page = Type.Object({
  distribution: Type.String(),
  host: Type.String(),
  path: Type.String(),
  requests: Count,
  misses: Count,
})
const counters = {
  requests: Counts,
  bytesCache: Count,
  bytesOrigin: Count,
  hitRatio: Ratio,
  entries: Count,
  memoryBytes: Count,
  diskBytes: Count,
}

export default defineAdminOperation({
  id: 'getCacheStats',
  method: 'GET',
  path: '/cache/stats',
  tag: 'cache',
  summary:
    'What the cache has answered since the start, in sum, by host and by node, and the pages that are asked for most. Hosts and pages are those of distributions whose cache the caller may manage or invalidate.',
  authorize: [['admin:ManageCache', 'admin:InvalidateCache', 'admin:ServerInfo']],
  query: Type.Object({
    distribution: Type.Optional(Type.String({ maxLength: 64 })),
    host: Type.Optional(Type.String({ maxLength: 255, description: 'An alias.' })),
    top: Type.Integer({ minimum: 0, maximum: 100, default: 10 }),
  }),
  response: Type.Object(
    {
      ...counters,
      hosts: Type.Array(
        Type.Object({
          distribution: Type.String(),
          host: Type.String(),
          requests: Counts,
          bytesCache: Count,
          bytesOrigin: Count,
          hitRatio: Ratio,
        }),
      ),
      topObjects: Type.Array(Page),
      topMisses: Type.Array(Page),
      nodes: Type.Array(
        Type.Object({
          ...counters,
          node: Type.String(),
          online: Type.Boolean(),
          mode: Type.String(),
          memoryLimitBytes: Count,
          diskLimitBytes: Count,
          tiers: Type.Array(
            Type.Object({
              tier: Type.String(),
              entries: Count,
              bytes: Count,
              limitBytes: Count,
              evictions: Count,
              paused: Type.Boolean({ description: 'It has failed, and is left alone for 10 s.' }),
            }),
            { description: 'Behind memory.' },
          ),
          evictions: Count,
          invalidations: Count,
          flushes: Count,
          synced: Type.Boolean(),
          originReads: Count,
          webhookQueue: Count,
          error: Type.String(),
        }),
      ),
    },
    { $id: 'CacheStats' },
  ),
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { distribution, host, top } = request.query
    const { shows } = await visibleDistributions(request, cacheAdmin)
    if (distribution !== undefined && !shows(distribution)) throw adminErrors.access_denied()
    return cacheAdmin.stats({ distribution, host, top, shows })
  },
})
