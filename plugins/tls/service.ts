/** The certificate in use, replaced as a whole or not at all. */
import type { SecureContextOptions } from 'node:tls'
import type { Logger, Ports, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { TlsService } from './api.ts'
import type { TlsConfig } from './config.ts'
import { certificateFile, type KeyPair, keyFile, readKeyPair } from './key-pair.ts'
import { type FileWatch, watchFiles } from './reload.ts'

export interface TlsServiceOptions {
  readonly config: TlsConfig
  readonly log: Logger
  readonly ports: Ports
  readonly threads: Threads
  readonly metrics: MetricsService
}

export interface RunningTlsService extends TlsService {
  start(): Promise<void>
  stop(): void
  /** Reads the certificate again, whether or not its files seem to have changed. */
  reload(): void
}

export function createTlsService({ config, log, ports, threads, metrics }: TlsServiceOptions): RunningTlsService {
  const { certsDir } = config
  const listeners = new Set<() => void>()
  let pair: KeyPair | undefined
  let watching: FileWatch | undefined

  // Each thread holds the same pair; the main thread speaks for the process.
  const reloads = metrics.counter({
    name: 'svc_tls_server_certificate_reloads_total',
    help: 'Reloads of the certificate of the listeners.',
    labels: ['result'],
  })
  if (certsDir !== undefined && threads.isMain) {
    reloads.inc({ result: 'success' }, 0)
    reloads.inc({ result: 'failure' }, 0)
    metrics.gauge({
      name: 'svc_tls_server_certificate_expiry_seconds',
      help: 'Seconds until the certificate of the listeners expires; negative when it has.',
      labels: ['certificate'],
      collect(gauge) {
        if (pair === undefined) return
        const leftMs = Date.parse(pair.info.notAfter) - ports.clock.now()
        gauge.set({ certificate: pair.info.name }, Math.round(leftMs / 1000))
      },
    })
  }

  async function reload(directory: string): Promise<void> {
    try {
      pair = await readKeyPair(directory)
    } catch (error) {
      // What we have keeps working; the next change is tried again.
      if (threads.isMain) {
        reloads.inc({ result: 'failure' })
        log.error({ err: error }, 'new certificate refused, the old one stays in use')
      }
      return
    }
    for (const listener of listeners) listener()
    if (threads.isMain) {
      reloads.inc({ result: 'success' })
      const { fingerprint, notAfter } = pair.info
      log.info({ fingerprint, notAfter }, 'certificate reloaded')
    }
  }

  return {
    enabled: certsDir !== undefined,
    minVersion: config.tlsMinVersion,

    contextOptions(): SecureContextOptions {
      if (pair === undefined) throw new Error('TLS is not enabled, or not started yet')
      const minVersion = config.tlsMinVersion === '1.3' ? 'TLSv1.3' : 'TLSv1.2'
      return { cert: pair.certificate, key: pair.key, minVersion }
    },

    onReload(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    certificates: () => (pair === undefined ? [] : [pair.info]),

    async start() {
      if (certsDir === undefined) return
      pair = await readKeyPair(certsDir)
      const options = { clock: ports.clock, intervalMs: config.reloadInterval }
      watching = await watchFiles(certsDir, [certificateFile, keyFile], options, () => reload(certsDir))
    },

    stop() {
      watching?.stop()
    },

    reload() {
      if (certsDir !== undefined) void reload(certsDir)
    },
  }
}
