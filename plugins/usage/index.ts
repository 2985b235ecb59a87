/** What is stored, for whoever administers it. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import { createGetUsage } from './admin/get-usage.ts'

export default definePlugin({
  name: 'usage',
  requires: ['objects'],
  setup({ services, ports, contribute }) {
    const getUsage = createGetUsage(ports.clock.now)
    contribute('admin.operation', getUsage.id, bindAdminOperation(getUsage, services), { optional: true })
  },
})
