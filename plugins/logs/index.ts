/** The log of the server, for operators without access to its standard error. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import './api.ts'
import streamLogs from './admin/stream-logs.ts'
import { createLogs } from './service.ts'

export default definePlugin({
  name: 'logs',
  description: 'The last lines of the log, and those to come.',
  requires: ['kernel'],
  provides: ['logs'],
  contributes: { 'admin.operation': [streamLogs] },
  setup({ services, threads, ports }) {
    const logs = createLogs({ kernel: services.kernel, threads, ...ports })
    return { services: { logs }, stop: logs.stop }
  },
})
