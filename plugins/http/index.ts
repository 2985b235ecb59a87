/** HTTP listeners: mounts for raw protocols, Fastify for everything else. */
import { definePlugin, type Findings } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import { type HttpConfig, httpConfig, validateHttpConfig } from './config.ts'
import { httpPoints } from './points.ts'
import { probePort } from './port-probe.ts'
import { createHttpService, listenAddresses } from './service.ts'

export default definePlugin({
  name: 'http',
  description: 'HTTP listeners.',
  requires: ['kernel', 'tls'],
  optional: ['metrics'],
  provides: ['http'],
  points: httpPoints,
  config: httpConfig,
  validate: validateHttpConfig,

  setup({ config, log, services, ports, threads, point }) {
    const http = createHttpService({
      config,
      log,
      ports,
      threads,
      kernel: services.kernel,
      tls: services.tls,
      metrics: services.metrics ?? noMetrics,
      mounts: point('http.mount'),
      routes: point('http.routes'),
      observers: point('http.observer'),
      hostRoutes: point('host.route'),
    })
    return {
      services: { http },
      inspect: () => inspectPorts(config),
      start: http.start,
      serve: http.serve,
      drain: http.drain,
      stop: http.stop,
    }
  },
})

async function inspectPorts(config: HttpConfig): Promise<Findings> {
  const problems: string[] = []
  for (const [name, address] of listenAddresses(config)) {
    try {
      await probePort(name, address)
    } catch (error) {
      problems.push((error as Error).message)
    }
  }
  return { problems }
}
