import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/http-client/api'
// For their types only: they declare the extension point `notify.target` and the service `httpClient`.
import type {} from 'svc/plugins/notify/api'
import { createAmqpKind } from './target.ts'

export default definePlugin({
  name: 'notify-amqp',
  description: 'Events to brokers of AMQP 0-9-1, such as RabbitMQ.',
  version: '0.1.0',
  requires: ['httpClient'],
  setup({ services, contribute }) {
    // Services of operators are in their own networks.
    contribute('notify.target', 'amqp', createAmqpKind(services.httpClient.guard('private')), { optional: true })
    return {}
  },
})
