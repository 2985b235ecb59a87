import { defineAdminOperation } from 'svc/plugins/admin/api'
import { asHost } from 'svc/plugins/distributions/api'
import { cacheErrors, invalidRequest } from '../errors.ts'
import type {} from '../service.ts'
import { requireTargets } from '../warm/targets.ts'
import { IdParameters } from './schemas.ts'
import { describeWarmup, Warmup, WarmupRequest } from './warmup-schemas.ts'

const invalidate = ['admin:InvalidateCache']

export default defineAdminOperation({
  id: 'createWarmup',
  method: 'POST',
  path: '/distributions/{id}/cache/warmups',
  tag: 'cache',
  summary:
    'Fetches pages of a distribution into the cache, so that their first visitors need not wait. Behaviors that are neither public nor signed are skipped.',
  authorize: invalidate,
  params: IdParameters,
  body: WarmupRequest,
  response: Warmup,
  isJob: true,
  errors: ['conflict', 'distribution_not_found', 'invalid_cache_request', 'too_many_requests'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const { body, params } = request
    const distribution = await cacheAdmin.distribution(params.id)
    await request.authorize(invalidate, { bucket: distribution.origin.bucket })
    requireTargets(body)
    const exact = distribution.aliases.filter(alias => !alias.startsWith('*.'))
    const hosts = body.domains?.map(asHost) ?? exact
    const foreign = hosts.findIndex(host => !exact.includes(host))
    if (foreign >= 0) throw invalidRequest(`/domains/${foreign}`, `is no exact alias of the distribution ${params.id}`)
    if (hosts.length === 0)
      throw cacheErrors.conflict('The distribution has wildcards alone: there is no host to fetch from.')
    if (!(await cacheAdmin.caches(distribution, hosts)))
      throw cacheErrors.conflict('The cache of the distribution is off at every host, or its mode has none.')
    return describeWarmup(await cacheAdmin.warmups.start(params.id, body, hosts))
  },
})
