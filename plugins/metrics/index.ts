/** Prometheus metrics of every thread, and the endpoint that hands them out. */
import { definePlugin } from 'svc/kernel'
import './api.ts'
import 'svc/plugins/http/api'
import { createPrometheusCommand } from './command.ts'
import { metricsConfig } from './config.ts'
import { createMetricsRegistry } from './registry.ts'
import { createMetricsRoutes } from './routes.ts'
import { createS3Families } from './s3-families.ts'
import { createTokenCheck } from './scrape-token.ts'

export default definePlugin({
  name: 'metrics',
  requires: ['kernel', 'iam'],
  provides: ['metrics'],
  config: metricsConfig,

  setup({ config, services, ports, threads, contribute }) {
    const { iam, kernel } = services
    const metrics = createMetricsRegistry(kernel, threads, ports)
    const authorize = config.authType === 'public' ? async () => undefined : createTokenCheck(iam, ports.clock.now)
    contribute('http.routes', 'metrics', {
      listeners: ['s3', 'console'],
      plugin: createMetricsRoutes(metrics, authorize),
    })
    contribute('s3.observer', 'metrics', createS3Families(metrics))
    contribute('cli.command', 'prometheus', createPrometheusCommand(iam, config.authType, ports.clock.now))
    return { services: { metrics } }
  },
})
