import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/http-client/api'
// Imported for their types: they declare the extension point `notify.target` and the service `httpClient`.
import type {} from 'svc/plugins/notify/api'
import { createNatsKind } from './target.ts'

export default definePlugin({
  name: 'notify-nats',
  description: 'Events to NATS and JetStream.',
  version: '0.1.0',
  requires: ['httpClient'],
  setup({ services, contribute }) {
    // Services of operators are in their own networks.
    contribute('notify.target', 'nats', createNatsKind(services.httpClient.guard('private')), { optional: true })
    return {}
  },
})
