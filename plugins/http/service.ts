/** The listeners of this thread, from set-up to stop. */
import type { KernelService, Logger, Point, Ports, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { TlsService } from 'svc/plugins/tls/api'
import { formatAddress, type ListenAddress, parseListenAddress } from './address.ts'
import type { BoundListener, HostRoute, HttpMount, HttpObserver, HttpRoutes, HttpService, ListenerName } from './api.ts'
import { type Application, createApplication } from './application.ts'
import type { HttpConfig } from './config.ts'
import { createHostRouter } from './host-router.ts'
import { createListener, type HttpListener } from './listener.ts'
import type { ListenerLimits } from './node-server.ts'
import { probePort } from './port-probe.ts'
import { createPortReservations, type PortReservations } from './port-reservation.ts'
import { createProxies } from './proxies.ts'
import { createRequestIds } from './request-ids.ts'

export interface HttpServiceOptions {
  readonly config: HttpConfig
  readonly log: Logger
  readonly ports: Ports
  readonly threads: Threads
  readonly kernel: KernelService
  readonly tls: TlsService
  readonly metrics: MetricsService
  readonly mounts: Point<HttpMount>
  readonly routes: Point<HttpRoutes>
  readonly observers: Point<HttpObserver>
  readonly hostRoutes: Point<HostRoute>
}

export interface RunningHttpService extends HttpService {
  start(): Promise<void>
  serve(): Promise<void>
  drain(): Promise<void>
  stop(): Promise<void>
}

interface Part {
  readonly name: ListenerName
  readonly address: ListenAddress
  readonly secure: boolean
  readonly application: Application | undefined
  readonly listener: HttpListener
}

/** The listeners that are configured, in the order in which they open. */
export function listenAddresses(config: HttpConfig): ReadonlyMap<ListenerName, ListenAddress> {
  const texts: readonly (readonly [ListenerName, string | undefined])[] = [
    ['s3', config.address],
    ['console', config.consoleAddress],
    ['web', config.webAddress],
    ['web-tls', config.webTlsAddress],
  ]
  const addresses = new Map<ListenerName, ListenAddress>()
  for (const [name, text] of texts) if (text !== undefined) addresses.set(name, requireAddress(text))
  return addresses
}

/** The web listeners have nothing of the server's own. */
/** Of the time that a plugin has to drain: the rest is for what else happens in it. */
const drainShare = 0.95

const isWeb = (name: ListenerName) => name === 'web' || name === 'web-tls'

export function createHttpService(options: HttpServiceOptions): RunningHttpService {
  const { config, log, ports, threads, kernel, tls } = options
  const proxies = createProxies({
    trusted: config.trustedProxies,
    style: config.forwardedHeaders,
    trustHost: config.trustForwardedHost,
  })
  const nextRequestId = createRequestIds(ports.random)
  const addresses = listenAddresses(config)
  // The console's few requests are all answered in the main thread; the others run where the front threads are, and share their ports.
  const shared = [...addresses.keys()].filter(name => name !== 'console')
  const portReservations = new Map<ListenerName, PortReservations>()
  for (const name of shared) portReservations.set(name, createPortReservations(threads, name))
  const names: ListenerName[] = threads.isFront ? [...shared] : []
  if (threads.isMain) names.push('console')
  const parts: Part[] = []
  /** With workers the main thread holds the shared ports until they serve, and tells clients that the server is starting. */
  const doorkeepers: Part[] = []
  const bound: BoundListener[] = []
  let draining = false
  let forgetReloads: (() => void) | undefined
  let forgetState: (() => void) | undefined

  options.metrics.gauge({
    name: 'svc_s3_requests_inflight',
    help: 'S3 requests whose answer is not finished.',
    collect(gauge) {
      gauge.set(parts.find(part => part.name === 's3')?.listener.inFlight ?? 0)
    },
  })

  function limitsOf(): ListenerLimits {
    const threadCount = Math.max(1, threads.workerCount)
    return {
      headerBytesMax: config.headerBytesMax,
      headerTimeoutMs: config.headerTimeout,
      bodyTimeoutMs: config.bodyTimeout,
      sendTimeoutMs: config.sendTimeout,
      keepAliveTimeoutMs: config.keepAliveTimeout,
      connectionsMax: Math.ceil(config.connectionsMax / threadCount),
    }
  }

  /**
   * `web` stays plain HTTP beside a certificate: challenges of certificate authorities and redirects to https need it. `web-tls` speaks TLS
   * also without one: by the certificates of names.
   */
  function isSecure(name: ListenerName): boolean {
    return name === 'web-tls' || (tls.enabled && name !== 'web')
  }

  async function createPart(name: ListenerName, isDoorkeeper = false): Promise<Part> {
    const application = isWeb(name)
      ? undefined
      : await createApplication({
          listener: name,
          routes: options.routes.list().map(({ value }) => value),
          observers: options.observers.list().map(({ value }) => value),
          log,
          now: ports.clock.now,
        })
    const mount = options.mounts.list().find(({ value }) => value.listener === name)
    const hostRoutes = options.hostRoutes.list().map(({ value }) => value)
    const secure = isSecure(name)
    const listener = createListener({
      name,
      limits: limitsOf(),
      proxies,
      proxyProtocol: config.proxyProtocol.includes(name === 'web-tls' ? 'web' : name),
      tls: secure ? tls : undefined,
      // A doorkeeper never opens; the protocol behind its mount runs in workers.
      mount: isDoorkeeper ? () => {} : mount?.value.handler,
      route: isDoorkeeper ? undefined : createHostRouter(hostRoutes, name),
      application: application?.handle,
      nextRequestId,
      clock: ports.clock,
      log,
    })
    return { name, address: addresses.get(name)!, secure, application, listener }
  }

  function refuseTwoMounts(): void {
    const taken = new Map<ListenerName, string>()
    for (const { plugin, value } of options.mounts.list()) {
      const other = taken.get(value.listener)
      if (other !== undefined) {
        throw new Error(`plugins ${other} and ${plugin} both want to answer the ${value.listener} listener`)
      }
      taken.set(value.listener, plugin)
    }
  }

  async function bind({ name, listener, address }: Part): Promise<number> {
    if (name === 'console' || threads.workerCount === 0) return listener.listen(address, false)
    return portReservations.get(name)!.bind(address.port, port => listener.listen({ ...address, port }, true))
  }

  async function bindAndNote(part: Part): Promise<void> {
    const port = await bind(part)
    bound.push({ name: part.name, address: part.address.host ?? '', port, secure: part.secure })
  }

  /** With SO_REUSEPORT a second server could take part of our connections; a plain bind shows that the port is free. */
  async function openDoorkeepers(): Promise<void> {
    for (const name of shared) {
      await probePort(name, addresses.get(name)!)
      const doorkeeper = await createPart(name, true)
      doorkeepers.push(doorkeeper)
      await bind(doorkeeper)
    }
  }

  async function closeDoorkeepers(): Promise<void> {
    for (const doorkeeper of doorkeepers.splice(0)) {
      const port = portReservations.get(doorkeeper.name)!.bound()
      const { name, address, secure } = doorkeeper
      if (port !== undefined) bound.push({ name, address: address.host ?? '', port, secure })
      await closePart(doorkeeper)
    }
  }

  async function closePart({ listener, application }: Part): Promise<void> {
    await listener.close()
    await application?.close()
  }

  return {
    listeners: () => bound,
    get draining() {
      return draining
    },
    observe(record) {
      for (const { value } of options.observers.list()) {
        try {
          value(record)
        } catch (err) {
          log.error({ err, requestId: record.requestId }, 'observer of requests failed')
        }
      }
    },

    /** The main thread opens its ports at once: probes get the answer that the server is starting, even if storage takes long to open. */
    async start() {
      refuseTwoMounts()
      for (const name of names) parts.push(await createPart(name))
      if (threads.isMain) {
        if (threads.workerCount > 0) await openDoorkeepers()
        for (const part of parts) await bindAndNote(part)
      }
      forgetState = kernel.onState(state => {
        if (state === 'draining') for (const { listener } of parts) listener.refuseNew()
      })
      if (tls.enabled) {
        forgetReloads = tls.onReload(() => {
          for (const { listener, secure } of [...parts, ...doorkeepers]) {
            if (secure) listener.replaceCertificate(tls.contextOptions())
          }
        })
      }
    },

    async serve() {
      for (const part of parts) {
        part.listener.open()
        if (!threads.isMain) await bindAndNote(part)
      }
      if (!threads.isMain) return
      await closeDoorkeepers()
      const order = [...addresses.keys()]
      bound.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
      for (const { name, port } of bound) kernel.announce(name, formatAddress(addresses.get(name)!.host, port))
    },

    async drain() {
      draining = true
      const timeoutMs = drainShare * kernel.stopTimeoutMs
      const left = await Promise.all(parts.map(part => part.listener.drain(timeoutMs)))
      const requests = left.reduce((sum, count) => sum + count, 0)
      // Slow clients are no failure of the server: it has waited as long as it was told to.
      if (requests === 0) return
      log.warn({ requests }, 'requests are cut off: they take longer than SVC_STOP_TIMEOUT allows')
      kernel.noteCutOff(requests)
    },

    async stop() {
      draining = true
      forgetReloads?.()
      forgetState?.()
      for (const part of [...doorkeepers.splice(0), ...parts.splice(0)]) await closePart(part)
      bound.length = 0
    },
  }
}

function requireAddress(text: string): ListenAddress {
  const address = parseListenAddress(text)
  if (typeof address === 'string') throw new TypeError(address)
  return address
}
