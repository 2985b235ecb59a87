/** Requests to places outside. */
import { lookup } from 'node:dns'
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import { HttpClientConfig } from './config.ts'
import { registerFamilies } from './families.ts'
import { createHttpClientService } from './service.ts'

export default definePlugin({
  name: 'http-client',
  description: 'Connections to places that operators name.',
  optional: ['metrics'],
  provides: ['httpClient'],
  config: HttpClientConfig,
  setup({ config, services, ports }) {
    const { count } = registerFamilies(services.metrics ?? noMetrics)
    const httpClient = createHttpClientService({
      allowedNetworks: config.allowedNetworks,
      clock: ports.clock,
      lookup,
      count,
    })
    return { services: { httpClient }, stop: httpClient.closeAll }
  },
})
