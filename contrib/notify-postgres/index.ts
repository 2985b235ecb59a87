import { definePlugin } from 'svc/kernel'
// For their types only: they declare the extension point `notify.target` and the service `outbound`.
import type {} from 'svc/plugins/notify/api'
import type {} from 'svc/plugins/outbound/api'
import { createPostgresKind } from './target.ts'

export default definePlugin({
  name: 'notify-postgres',
  version: '0.1.0',
  requires: ['outbound'],
  setup({ services, contribute }) {
    // Services of operators are in their own networks.
    contribute('notify.target', 'postgres', createPostgresKind(services.outbound.guard('private')), { optional: true })
    return {}
  },
})
