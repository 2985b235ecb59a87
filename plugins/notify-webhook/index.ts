/** Events of objects to a URL. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/notify/api'
import 'svc/plugins/webhook/api'
import { createWebhookTargets } from './target.ts'

export default definePlugin({
  name: 'notify-webhook',
  requires: ['webhook'],
  setup({ services, contribute }) {
    contribute('notify.target', 'webhook', createWebhookTargets(services.webhook), { optional: true })
  },
})
