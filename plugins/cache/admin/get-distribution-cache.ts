import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { readDistributionCache } from './read-distribution-cache.ts'
import { DistributionCache, IdParameters, manage } from './schemas.ts'

export default defineAdminOperation({
  id: 'getDistributionCache',
  method: 'GET',
  path: '/distributions/{id}/cache/settings',
  tag: 'cache',
  summary: 'Returns the cache settings of a distribution, of its domains and behaviors.',
  authorize: manage,
  params: IdParameters,
  response: DistributionCache,
  etag: true,
  errors: ['distribution_not_found'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const distribution = await cacheAdmin.distribution(request.params.id)
    await request.authorize(manage, { bucket: distribution.origin.bucket })
    return readDistributionCache(cacheAdmin, distribution)
  },
})
