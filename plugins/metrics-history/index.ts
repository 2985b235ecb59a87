/** The last 24 hours of metrics, and the operations of the Admin API that read them. */
import { definePlugin } from 'svc/kernel'
import { bindAdminOperation } from 'svc/plugins/admin/api'
import 'svc/plugins/metrics/api'
import './api.ts'
import listMetrics from './admin/list-metrics.ts'
import { createQueryMetrics } from './admin/query-metrics.ts'
import { createMetricsHistory } from './service.ts'

export default definePlugin({
  name: 'metrics-history',
  description: 'The last 24 hours of metrics, in memory.',
  optional: ['metrics'],
  setup({ services, threads, ports, log, contribute }) {
    const { metrics } = services
    if (metrics === undefined) return
    const metricsHistory = createMetricsHistory({ metrics, threads, clock: ports.clock, log })
    for (const operation of [listMetrics, createQueryMetrics(ports.clock.now)]) {
      contribute('admin.operation', operation.id, bindAdminOperation(operation, { metricsHistory }), { optional: true })
    }
    return { serve: metricsHistory.serve, stop: metricsHistory.stop }
  },
})
