import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/http-client/api'
// For their types only: they declare the extension point `notify.target` and the service `httpClient`.
import type {} from 'svc/plugins/notify/api'
import { createRedisKind } from './target.ts'

export default definePlugin({
  name: 'notify-redis',
  description: 'Events to Redis.',
  version: '0.1.0',
  requires: ['httpClient'],
  setup({ services, contribute }) {
    // Services of operators are in their own networks.
    contribute('notify.target', 'redis', createRedisKind(services.httpClient.guard('private')), { optional: true })
    return {}
  },
})
