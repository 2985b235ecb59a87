import { defineAdminOperation } from 'svc/plugins/admin/api'
import { cacheErrors } from '../errors.ts'
import type {} from '../service.ts'
import { DistributionCache, DistributionCacheInput, describeDistribution, IdParameters, manage } from './schemas.ts'

export default defineAdminOperation({
  id: 'putDistributionCache',
  method: 'PUT',
  path: '/distributions/{id}/cache/settings',
  tag: 'cache',
  summary: 'Replaces the cache settings of a distribution; in force on the next request.',
  authorize: manage,
  params: IdParameters,
  body: DistributionCacheInput,
  response: DistributionCache,
  etag: true,
  errors: [
    'cache_policy_not_found',
    'distribution_not_found',
    'invalid_cache_request',
    'not_implemented',
    'precondition_failed',
  ],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { body, ifMatch, params } = request
    const { cache = {}, domains = [], behaviors = [], webhooks = [], warmOnWrite = [] } = body
    if (webhooks.length > 0) throw cacheErrors.not_implemented('/webhooks: no loaded plugin delivers to webhooks.')
    if (warmOnWrite.length > 0) throw cacheErrors.not_implemented('/warmOnWrite: warm-ups after writes are not built.')
    const distribution = await cacheAdmin.distribution(params.id)
    await request.authorize(manage, { bucket: distribution.origin.bucket })
    await cacheAdmin.settings.putDistribution(distribution, { cache, domains, behaviors, warmOnWrite }, ifMatch)
    return describeDistribution(distribution.id, await cacheAdmin.settings.distribution(distribution))
  },
})
