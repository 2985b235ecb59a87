/** Spans of requests for an OpenTelemetry collector. Without a configured collector the plugin does nothing. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/http/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/s3/api'
import type { TracingStatus } from './api.ts'
import { TracingConfig, tracingProblems } from './config.ts'
import { registerFamilies } from './families.ts'
import type { RequestRecord } from './span.ts'
import type { Tracing } from './tracing.ts'

export default definePlugin({
  name: 'tracing',
  description: 'Spans of requests for a collector of OpenTelemetry.',
  requires: ['kernel', 'httpClient'],
  optional: ['metrics'],
  provides: ['tracing'],
  config: TracingConfig,
  validate: tracingProblems,
  setup({ config, services, ports, log, contribute }) {
    const { endpoint = '', protocol, sampleRatio } = config
    const status: TracingStatus = { enabled: endpoint !== '', endpoint, protocol, sampleRatio }
    const service = { tracing: { status: () => status } }
    if (endpoint === '') return { services: service }
    const count = registerFamilies(services.metrics ?? noMetrics)
    let tracing: Tracing | undefined
    const observe = (record: RequestRecord) => tracing?.observe(record)
    contribute('s3.observer', 'tracing', observe, { optional: true })
    contribute('http.observer', 'tracing', observe, { optional: true })
    return {
      services: service,
      async start() {
        const { startTracing } = await import('./tracing.ts')
        tracing = startTracing({ config: { ...config, endpoint }, ...services, ports, log, count })
      },
      stop: () => tracing?.stop(),
    }
  },
})
