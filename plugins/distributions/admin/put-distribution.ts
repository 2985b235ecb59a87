import { adminErrors, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { DistributionInput } from '../document.ts'
import type {} from '../service.ts'
import {
  DistributionView,
  DryRun,
  Force,
  IdParameters,
  manage,
  savedView,
  saveErrors,
  saverOf,
} from './distribution-request.ts'

export default defineAdminOperation({
  id: 'putDistribution',
  method: 'PUT',
  path: '/distributions/{id}',
  tag: 'distributions',
  summary:
    'Creates or replaces a distribution as a whole; in force on the next request. `If-None-Match: *` only creates.',
  authorize: [manage],
  params: IdParameters,
  query: Type.Object({ ...DryRun.properties, ...Force }),
  body: DistributionInput,
  response: DistributionView,
  etag: true,
  errors: ['already_exists', 'certificate_served', 'precondition_failed', ...saveErrors],
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { params, body: input, query, ifMatch, headers } = request
    if (input.id !== params.id) throw adminErrors.invalid_argument('/id: must equal the id in the path.')
    const ifNoneMatch = headers['if-none-match']
    if (ifNoneMatch !== undefined && ifNoneMatch !== '*') {
      throw adminErrors.invalid_argument('If-None-Match can only be *.')
    }
    const { dryRun, force } = query
    const saved = await distributions.save({ input, ...saverOf(request), ifMatch, ifNoneMatch, dryRun, force })
    return replyWith(await savedView(saved, distributions), { status: saved.isNew && !dryRun ? 201 : 200 })
  },
})
