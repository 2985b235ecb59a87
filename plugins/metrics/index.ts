/** The metrics of every thread. */
import { definePlugin } from 'svc/kernel'
import './api.ts'
import { createMetricsRegistry } from './registry.ts'

export default definePlugin({
  name: 'metrics',
  description: 'The metrics of the node, summed over its threads.',
  requires: ['kernel'],
  provides: ['metrics'],

  setup: ({ services, ports, threads }) => ({
    services: { metrics: createMetricsRegistry(services.kernel, threads, ports) },
  }),
})
