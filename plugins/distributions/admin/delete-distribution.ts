import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { IdParameters, manage, mayManageAs } from './distribution-request.ts'

export default defineAdminOperation({
  id: 'deleteDistribution',
  method: 'DELETE',
  path: '/distributions/{id}',
  tag: 'distributions',
  summary: 'Deletes a distribution: from the next request on its names are not served. The bucket is not changed.',
  authorize: [manage],
  params: IdParameters,
  etag: true,
  errors: ['certificate_in_use', 'distribution_not_found', 'precondition_failed'],
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    await distributions.remove(request.params.id, mayManageAs(request), request.ifMatch)
  },
})
