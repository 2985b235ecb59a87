import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { describeInvalidation, Invalidation, watch } from './schemas.ts'
import { visibleDistributions } from './visible-distributions.ts'

export default defineAdminOperation({
  id: 'getInvalidation',
  method: 'GET',
  path: '/cache/invalidations/{inv}',
  tag: 'cache',
  summary:
    'Returns an invalidation with the state of each node; also one of a distribution. The caller needs the right on the bucket of each distribution that it may hit.',
  authorize: watch,
  params: Type.Object({ inv: Type.String({ minLength: 1, maxLength: 64 }) }),
  response: Invalidation,
  errors: ['invalidation_not_found'],
  uses: ['cacheAdmin'],
  async handle(request, { cacheAdmin }) {
    const found = await cacheAdmin.purges.get(request.params.inv)
    const { showsPurge } = await visibleDistributions(request, cacheAdmin)
    if (!showsPurge(found)) throw adminErrors.access_denied()
    return describeInvalidation(found)
  },
})
