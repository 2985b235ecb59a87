import { defineAdminOperation } from 'svc/plugins/admin/api'
import 'svc/plugins/distributions/api'
import { Type } from 'typebox'
import '../api.ts'
import { DistributionId, findDistribution } from './webhook-request.ts'

const WebhookTest = Type.Object(
  {
    url: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: 'Default: the root of the first exact alias.' }),
    ),
  },
  { $id: 'WebhookTest', additionalProperties: false },
)

const WebhookTestResult = Type.Object(
  {
    webhook: Type.String(),
    delivered: Type.Boolean(),
    status: Type.Integer({ description: 'Of the answer; 0: there was none.' }),
    error: Type.String(),
    durationMs: Type.Integer(),
  },
  { $id: 'WebhookTestResult' },
)

export default defineAdminOperation({
  id: 'testDistributionWebhook',
  method: 'POST',
  path: '/distributions/{id}/cache/webhooks/{webhook}/test',
  tag: 'cache',
  summary: 'Purges one URL through a webhook, now and not by its queue. A failure is an answer, too.',
  authorize: ['admin:ManageCache'],
  params: Type.Object({ id: DistributionId, webhook: DistributionId }),
  body: WebhookTest,
  bodyOptional: true,
  response: WebhookTestResult,
  errors: ['distribution_not_found', 'invalid_cache_request', 'webhook_not_found'],
  uses: ['distributions', 'purge'],
  async handle(request, { distributions, purge }) {
    const { params, body } = request
    const distribution = await findDistribution(distributions, params.id)
    await request.authorize(['admin:ManageCache'], { bucket: distribution.origin.bucket })
    return purge.test(distribution, params.webhook, body?.url)
  },
})
