import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { DistributionInput } from '../document.ts'
import type {} from '../service.ts'
import { DistributionView, DryRun, manage, savedView, saveErrors, saverOf } from './distribution-request.ts'

export default defineAdminOperation({
  id: 'createDistribution',
  method: 'POST',
  path: '/distributions',
  tag: 'distributions',
  summary: 'Publishes a bucket, or a prefix of it, on its own host names; in force on the next request.',
  authorize: [manage],
  query: DryRun,
  body: DistributionInput,
  response: DistributionView,
  location: ({ id }) => `/distributions/${id}`,
  etag: true,
  errors: ['already_exists', ...saveErrors],
  uses: ['distributionsAdmin'],
  async handle(request, { distributionsAdmin: distributions }) {
    const { body: input, query } = request
    const { dryRun } = query
    // What is new takes no certificate away.
    const saved = await distributions.save({ input, ...saverOf(request), ifNoneMatch: '*', dryRun, force: true })
    const view = await savedView(saved, distributions)
    return dryRun ? replyWith(view, { status: 200 }) : view
  },
})
