/** Documents for receivers of operators. */
import { definePlugin } from 'svc/kernel'
import './api.ts'
import { createWebhookService } from './service.ts'

export default definePlugin({
  name: 'webhook',
  requires: ['outbound'],
  provides: ['webhook'],
  setup: ({ services }) => ({ services: { webhook: createWebhookService(services.outbound) } }),
})
