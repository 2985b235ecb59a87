/** The log of the server, for those who cannot look at its standard error. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import './api.ts'
import streamLogs from './admin/stream-logs.ts'
import { createLogs } from './service.ts'

export default definePlugin({
  name: 'logs',
  description: 'The last lines of the log, and those to come.',
  requires: ['kernel'],
  provides: ['logs'],
  setup({ services, threads, ports, contribute }) {
    const logs = createLogs({ kernel: services.kernel, threads, ...ports })
    contribute('admin.operation', streamLogs.id, bindAdminOperation(streamLogs, { logs }), { optional: true })
    return { services: { logs }, stop: logs.stop }
  },
})
