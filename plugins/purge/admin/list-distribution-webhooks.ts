import { defineAdminOperation } from 'svc/plugins/admin/api'
import 'svc/plugins/distributions/api'
import { Type } from 'typebox'
import '../api.ts'
import { DistributionId, findDistribution } from './webhook-request.ts'

const Time = Type.String({ format: 'date-time' })

const WebhookStatus = Type.Object(
  {
    id: Type.String(),
    type: Type.String(),
    domains: Type.Array(Type.String(), { description: 'Empty: all aliases.' }),
    url: Type.String({ description: 'Empty where the kind has a fixed address.' }),
    online: Type.Optional(
      Type.Boolean({ description: 'No attempt has failed since the last success. Missing: none was made yet.' }),
    ),
    queued: Type.Integer({ description: 'Invalidations that wait.' }),
    deliveredTotal: Type.Integer({ description: 'Since the start.' }),
    failedTotal: Type.Integer({ description: 'Given up since the start.' }),
    lastAttemptAt: Type.Optional(Time),
    lastSuccessAt: Type.Optional(Time),
    lastError: Type.String({ description: 'Of the last call, or why everything is refused while owesAll.' }),
    lastWidened: Type.String({ description: 'What was last purged as more than was asked for; empty: nothing.' }),
    owesAll: Type.Boolean({
      description:
        'Purges were given up, and everything was not purged since. It follows the next delivery; where it is refused it is tried again.',
    }),
  },
  { $id: 'WebhookStatus' },
)

const timeOf = (timeMs: number): string => new Date(timeMs).toISOString()

export default defineAdminOperation({
  id: 'listDistributionWebhooks',
  method: 'GET',
  path: '/distributions/{id}/cache/webhooks',
  tag: 'cache',
  summary: 'Lists the purge webhooks of a distribution with the state of their queues and deliveries.',
  authorize: ['admin:ManageCache', 'admin:InvalidateCache'],
  params: Type.Object({ id: DistributionId }),
  response: Type.Object({ items: Type.Array(WebhookStatus) }),
  errors: ['distribution_not_found'],
  uses: ['distributions', 'purge'],
  async handle(request, { distributions, purge }) {
    const distribution = await findDistribution(distributions, request.params.id)
    await request.authorize(['admin:ManageCache', 'admin:InvalidateCache'], { bucket: distribution.origin.bucket })
    const found = await purge.status(distribution)
    return {
      items: found.map(({ lastAttemptMs, lastSuccessMs, domains, ...status }) => ({
        ...status,
        domains: [...domains],
        ...(lastAttemptMs === undefined ? undefined : { lastAttemptAt: timeOf(lastAttemptMs) }),
        ...(lastSuccessMs === undefined ? undefined : { lastSuccessAt: timeOf(lastSuccessMs) }),
      })),
    }
  },
})
