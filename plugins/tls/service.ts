/** The certificate in use, replaced as a whole or not at all, and those by server name that go before it. */
import type { SecureContextOptions } from 'node:tls'
import type { Logger, Point, Ports, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import { createAdmission } from './admission.ts'
import type { TlsChallenge, TlsService, TlsSource } from './api.ts'
import type { TlsConfig } from './config.ts'
import { certificateFile, type KeyPair, keyFile, readKeyPair } from './key-pair.ts'
import { type FileWatch, watchFiles } from './reload.ts'
import { createServerNames } from './server-names.ts'

export interface TlsServiceOptions {
  readonly config: TlsConfig
  readonly log: Logger
  readonly ports: Ports
  readonly threads: Threads
  readonly metrics: MetricsService
  readonly sources: Point<TlsSource>
  readonly challenges: Point<TlsChallenge>
}

/** The length that OpenSSL wants of the keys of session tickets. */
const ticketKeysBytes = 48
const ticketKeysCall = 'tls.ticket-keys'

export interface RunningTlsService extends TlsService {
  start(): Promise<void>
  stop(): void
  /** Reads the certificate again, whether or not its files seem to have changed. */
  reload(): void
}

export function createTlsService(options: TlsServiceOptions): RunningTlsService {
  const { config, log, ports, threads, metrics } = options
  const { certsDir } = config
  const listeners = new Set<() => void>()
  let pair: KeyPair | undefined
  let refusal: string | undefined
  let watching: FileWatch | undefined
  let sources: readonly TlsSource[] = []
  let challenges: readonly TlsChallenge[] = []
  /** One set for all threads: a client that comes back may meet another one. */
  let ticketKeys: Buffer | undefined
  if (threads.isMain) {
    ticketKeys = ports.random.bytes(ticketKeysBytes)
    threads.handle(ticketKeysCall, () => ticketKeys)
  }
  const common = (): SecureContextOptions => ({
    minVersion: config.tlsMinVersion === '1.3' ? 'TLSv1.3' : 'TLSv1.2',
    ...(ticketKeys === undefined ? {} : { ticketKeys }),
  })
  const hasOwn = () => pair !== undefined
  const names = createServerNames({ sources: () => sources, hasOwn, common })
  const { admit } = createAdmission({ challenges: () => challenges, hasOwn, names, clock: ports.clock, log })

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
      refusal = undefined
    } catch (error) {
      // The current certificate stays in use; the next change is tried again.
      refusal = (error as Error).message
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

  function contextOptions(): SecureContextOptions {
    if (pair === undefined) throw new Error('TLS is not enabled, or not started yet')
    return { ...common(), cert: pair.certificate, key: pair.key }
  }

  return {
    enabled: certsDir !== undefined,
    minVersion: config.tlsMinVersion,
    contextOptions,

    serverOptions: () => ({
      ...(hasOwn() ? contextOptions() : common()),
      SNICallback(serverName, done) {
        // A callback of the thread: an exception here would end it.
        Promise.resolve(names.contextFor(serverName)).then(
          context => done(null, context),
          error => {
            log.error({ err: error }, 'a certificate could not be looked up')
            done(error)
          },
        )
      },
    }),

    admit,

    onReload(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    refusal: () => refusal,

    certificates: () => (pair === undefined ? [] : [pair.info]),

    async start() {
      sources = options.sources.list().map(({ value }) => value)
      challenges = options.challenges.list().map(({ value }) => value)
      ticketKeys ??= Buffer.from(await threads.call<Uint8Array>(0, ticketKeysCall))
      if (certsDir === undefined) return
      pair = await readKeyPair(certsDir)
      const rhythm = { clock: ports.clock, intervalMs: config.reloadInterval }
      watching = await watchFiles(certsDir, [certificateFile, keyFile], rhythm, () => reload(certsDir))
    },

    stop() {
      watching?.stop()
    },

    reload() {
      if (certsDir !== undefined) void reload(certsDir)
    },
  }
}
