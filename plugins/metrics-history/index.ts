/** The last 24 hours of metrics, and the operations of the Admin API that read them. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/metrics/api'
import './api.ts'
import listMetrics from './admin/list-metrics.ts'
import queryMetrics from './admin/query-metrics.ts'
import { createMetricsHistory } from './service.ts'

export default definePlugin({
  name: 'metrics-history',
  description: 'The last 24 hours of metrics, in memory.',
  optional: ['metrics'],
  internal: ['metricsHistory'],
  contributes: { 'admin.operation': [listMetrics, queryMetrics] },
  setup({ services, threads, ports, log }) {
    const { metrics } = services
    if (metrics === undefined) return
    const metricsHistory = createMetricsHistory({ metrics, threads, clock: ports.clock, log })
    return { internal: { metricsHistory }, serve: metricsHistory.serve, stop: metricsHistory.stop }
  },
})
