import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { describeInvalidation, Invalidation, InvalidationRequest } from './schemas.ts'

export default defineAdminOperation({
  id: 'createInvalidation',
  method: 'POST',
  path: '/cache/invalidations',
  tag: 'cache',
  summary: 'Purges cached answers of every distribution; in force on the next request. `all` has to be asked for.',
  authorize: ['admin:InvalidateCache'],
  body: InvalidationRequest,
  response: Invalidation,
  isJob: true,
  errors: ['conflict', 'invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle({ body, identity }, { cacheAdmin }) {
    return describeInvalidation(
      await cacheAdmin.purge(body, undefined, identity?.userName ?? identity?.accessKey ?? ''),
    )
  },
})
