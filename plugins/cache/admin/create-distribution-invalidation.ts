import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { describeInvalidation, IdParameters, Invalidation, InvalidationRequest } from './schemas.ts'

const invalidate = ['admin:InvalidateCache']

export default defineAdminOperation({
  id: 'createDistributionInvalidation',
  method: 'POST',
  path: '/distributions/{id}/invalidations',
  tag: 'cache',
  summary: 'Purges cached answers of a distribution; in force on the next request.',
  authorize: invalidate,
  params: IdParameters,
  body: InvalidationRequest,
  response: Invalidation,
  isJob: true,
  errors: ['conflict', 'distribution_not_found', 'invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { identity, body, params } = request
    const distribution = await cacheAdmin.distribution(params.id)
    await request.authorize(invalidate, { bucket: distribution.origin.bucket })
    const actor = identity?.userName ?? identity?.accessKey ?? ''
    return describeInvalidation(await cacheAdmin.purge(body, distribution, actor))
  },
})
