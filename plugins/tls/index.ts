/** TLS of the listeners: certificate and key from a directory, reloaded when they change. */
import { definePlugin, type Findings } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import './api.ts'
import { type TlsConfig, tlsConfig } from './config.ts'
import { readKeyPair } from './key-pair.ts'
import { tlsPoints } from './points.ts'
import { createTlsService } from './service.ts'

export default definePlugin({
  name: 'tls',
  description: 'TLS of the listeners, reloaded when the files change.',
  requires: ['kernel'],
  optional: ['metrics'],
  provides: ['tls'],
  points: tlsPoints,
  config: tlsConfig,

  setup({ config, log, ports, threads, services, point }) {
    const tls = createTlsService({
      config,
      log,
      ports,
      threads,
      metrics: services.metrics ?? noMetrics,
      sources: point('tls.source'),
      challenges: point('tls.challenge'),
    })
    let forget: (() => void) | undefined
    const inspect = async ({ certsDir }: TlsConfig): Promise<Findings> => {
      try {
        if (certsDir !== undefined) await readKeyPair(certsDir)
        return {}
      } catch (error) {
        return { problems: [`SVC_CERTS_DIR: ${(error as Error).message}`] }
      }
    }
    return {
      services: { tls },
      inspect: () => inspect(config),
      inspectRestart: inspect,
      async start() {
        await tls.start()
        forget = services.kernel.onReload(tls.reload)
      },
      stop() {
        forget?.()
        tls.stop()
      },
    }
  },
})
