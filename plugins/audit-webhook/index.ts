/** Audit records to a URL. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/audit/api'
import 'svc/plugins/webhook/api'
import { createWebhookTargets } from './target.ts'

export default definePlugin({
  name: 'audit-webhook',
  requires: ['webhook'],
  setup({ services, contribute }) {
    contribute('audit.sink', 'webhook', createWebhookTargets(services.webhook), { optional: true })
  },
})
