/** Health endpoints on both ports, and the command that asks them. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import healthcheck from './command.ts'
import { healthConfig } from './config.ts'
import { registerFamilies } from './families.ts'
import { healthPoints } from './points.ts'
import { createProbes } from './probes.ts'
import { createHealthRoutes } from './routes.ts'

export default definePlugin({
  name: 'health',
  description: 'Health for load balancers and orchestrators.',
  requires: ['kernel'],
  optional: ['metrics'],
  internal: ['healthcheck'],
  contributes: { 'cli.command': [healthcheck] },
  points: healthPoints,
  config: healthConfig,

  setup({ config, services, ports, threads, log, contribute, point }) {
    if (threads.isMain) registerFamilies(services.metrics ?? noMetrics, services.kernel)
    const probes = createProbes({
      kernel: services.kernel,
      checks: point('health.check').list,
      drives: point('health.drives').list,
      ports,
      log,
    })
    contribute('http.routes', 'health', { listeners: ['s3', 'console'], plugin: createHealthRoutes(probes) })
    return { internal: { healthcheck: config } }
  },
})
