/** Metrics for Prometheus: the endpoints that hand them out, and the tokens that open them. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import 'svc/plugins/metrics/api'
import { createPrometheusCommand } from './command.ts'
import { prometheusConfig } from './config.ts'
import { createMetricsRoutes } from './routes.ts'
import { createTokenCheck } from './scrape-token.ts'

export default definePlugin({
  name: 'prometheus',
  description: 'Metrics for Prometheus, and the tokens that open them.',
  requires: ['iam'],
  optional: ['metrics'],
  config: prometheusConfig,

  setup({ config, services, ports, contribute }) {
    const { iam, metrics } = services
    if (metrics === undefined) return
    const authorize = config.authType === 'public' ? async () => undefined : createTokenCheck(iam, ports.clock.now)
    contribute('http.routes', 'metrics', {
      listeners: ['s3', 'console'],
      plugin: createMetricsRoutes(metrics, authorize),
    })
    contribute('cli.command', 'prometheus', createPrometheusCommand(iam, config.authType, ports.clock.now))
  },
})
