import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { describeInvalidation, Invalidation, InvalidationRequest } from './schemas.ts'

const invalidate = ['admin:InvalidateCache']

export default defineAdminOperation({
  id: 'createInvalidation',
  method: 'POST',
  path: '/cache/invalidations',
  tag: 'cache',
  summary:
    'Purges cached answers of every distribution; in force on the next request. `all` has to be asked for. The caller needs the right on the bucket of each distribution that may be hit: without a domain or a URL, on all.',
  authorize: invalidate,
  body: InvalidationRequest,
  response: Invalidation,
  isJob: true,
  errors: ['conflict', 'invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { body, identity } = request
    const hit = await cacheAdmin.hitBy(body)
    const buckets = new Set(hit.map(({ origin }) => origin.bucket))
    for (const bucket of buckets) await request.authorize(invalidate, { bucket })
    return describeInvalidation(
      await cacheAdmin.purge(body, undefined, identity?.userName ?? identity?.accessKey ?? ''),
    )
  },
})
