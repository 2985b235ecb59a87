/** Metrics for Prometheus: the endpoints that hand them out, and the tokens that open them. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/http/api'
import 'svc/plugins/metrics/api'
import type { PolicyService } from 'svc/plugins/policy/api'
import 'svc/plugins/s3/api'
import createPrometheusToken from './admin/create-prometheus-token.ts'
import prometheus from './command.ts'
import { prometheusConfig } from './config.ts'
import { createMetricsRoutes } from './routes.ts'
import { createTokenCheck } from './scrape-token.ts'

/** Without the plugin `policy` only root has rights. */
const rootAlone: Pick<PolicyService, 'isAllowed'> = { isAllowed: ({ identity }) => identity?.isRoot === true }

export default definePlugin({
  name: 'prometheus',
  description: 'Metrics for Prometheus, and the tokens that open them.',
  requires: ['iam'],
  optional: ['metrics', 'policy', 's3'],
  internal: ['scraping'],
  contributes: { 'cli.command': [prometheus], 'admin.operation': [createPrometheusToken] },
  config: prometheusConfig,

  setup({ config, services, ports, contribute }) {
    const { iam, policy, metrics } = services
    if (metrics === undefined) return
    const authorize =
      config.authType === 'public' ? async () => undefined : createTokenCheck(iam, policy ?? rootAlone, ports.clock.now)
    contribute('http.routes', 'metrics', {
      listeners: ['s3', 'console'],
      plugin: createMetricsRoutes(metrics, authorize),
    })
    return { internal: { scraping: { authType: config.authType } } }
  },
})
