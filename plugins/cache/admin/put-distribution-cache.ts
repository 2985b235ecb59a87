import { defineAdminOperation } from 'svc/plugins/admin/api'
import type { WebhookDocument } from '../api.ts'
import { cacheErrors } from '../errors.ts'
import type {} from '../service.ts'
import { readDistributionCache } from './read-distribution-cache.ts'
import { DistributionCache, DistributionCacheInput, IdParameters, manage } from './schemas.ts'

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
    if (warmOnWrite.length > 0 && !cacheAdmin.warmsOnWrite)
      throw cacheErrors.not_implemented('/warmOnWrite: the plugin queue, which it needs, is not loaded.')
    const distribution = await cacheAdmin.distribution(params.id)
    await request.authorize(manage, { bucket: distribution.origin.bucket })
    const keeper = cacheAdmin.webhooks()
    if (keeper === undefined && webhooks.length > 0)
      throw cacheErrors.not_implemented('/webhooks: the plugin purge, which tells webhooks, is not loaded.')
    await cacheAdmin.settings.putDistribution(
      distribution,
      { cache, domains, behaviors, warmOnWrite },
      ifMatch,
      keeper && (() => keeper.prepare(distribution, webhooks as readonly WebhookDocument[])),
    )
    return readDistributionCache(cacheAdmin, distribution)
  },
})
