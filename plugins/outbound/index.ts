/** Requests to places outside. */
import { lookup } from 'node:dns'
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import { OutboundConfig } from './config.ts'
import { registerFamilies } from './families.ts'
import { createOutbound } from './service.ts'

export default definePlugin({
  name: 'outbound',
  optional: ['metrics'],
  provides: ['outbound'],
  config: OutboundConfig,
  setup({ config, services, ports }) {
    const { count } = registerFamilies(services.metrics ?? noMetrics)
    const outbound = createOutbound({ allowedNetworks: config.allowedNetworks, clock: ports.clock, lookup, count })
    return { services: { outbound }, stop: outbound.closeAll }
  },
})
