/** Posts documents to URLs of operators: events of objects, and audit records. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/audit/api'
import 'svc/plugins/notify/api'
import './api.ts'
import { createAuditTargets } from './audit-target.ts'
import { createNotifyTargets } from './notify-target.ts'
import { createWebhookService } from './service.ts'

export default definePlugin({
  name: 'webhook',
  description: 'Events and audit records, posted as JSON to URLs.',
  requires: ['httpClient'],
  provides: ['webhook'],
  setup({ services, contribute }) {
    const webhook = createWebhookService(services.httpClient)
    contribute('notify.target', 'webhook', createNotifyTargets(webhook), { optional: true })
    contribute('audit.sink', 'webhook', createAuditTargets(webhook), { optional: true })
    return { services: { webhook } }
  },
})
