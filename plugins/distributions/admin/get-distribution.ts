import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { DistributionView, IdParameters, manage, mayManageAs } from './distribution-request.ts'

export default defineAdminOperation({
  id: 'getDistribution',
  method: 'GET',
  path: '/distributions/{id}',
  tag: 'distributions',
  summary: 'Returns a distribution. Of its origin secrets it shows the first digits of their hashes.',
  authorize: [manage],
  params: IdParameters,
  response: DistributionView,
  etag: true,
  errors: ['distribution_not_found'],
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { view, bucket } = await distributions.get(request.params.id)
    await request.authorize([manage], { bucket })
    const mayManage = mayManageAs(request)
    const shadowed = []
    for (const { domain, wildcard, other } of await distributions.shadowedBy(view.id, view.aliases)) {
      const isShown = await mayManage(other.origin.bucket)
      shadowed.push({ domain, wildcard, ...(isShown && { distribution: other.id }) })
    }
    return { ...view, shadowed }
  },
})
