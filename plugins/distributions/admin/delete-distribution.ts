import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import type {} from '../service.ts'
import { Force, IdParameters, manage, mayManageAs } from './distribution-request.ts'

export default defineAdminOperation({
  id: 'deleteDistribution',
  method: 'DELETE',
  path: '/distributions/{id}',
  tag: 'distributions',
  summary:
    'Deletes a distribution: from the next request on it does not answer at its names; `shadowed` of `getDistribution` says which of them a wildcard of another one has then. The bucket is not changed.',
  authorize: [manage],
  params: IdParameters,
  query: Type.Object(Force),
  etag: true,
  errors: ['certificate_in_use', 'certificate_served', 'distribution_not_found', 'precondition_failed'],
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { params, query, ifMatch } = request
    await distributions.remove(params.id, mayManageAs(request), { ifMatch, force: query.force })
  },
})
