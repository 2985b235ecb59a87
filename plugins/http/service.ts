/** The listeners of this thread, from set-up to stop. */
import type { KernelService, Logger, Point, Ports, Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { TlsService } from 'svc/plugins/tls/api'
import { formatAddress, type ListenAddress, parseListenAddress } from './address.ts'
import type { BoundListener, HttpMount, HttpObserver, HttpRoutes, HttpService, ListenerName } from './api.ts'
import { type Application, createApplication } from './application.ts'
import type { HttpConfig } from './config.ts'
import { createListener, type HttpListener } from './listener.ts'
import type { ListenerLimits } from './node-server.ts'
import { probePort } from './port-probe.ts'
import { createPortReservations } from './port-reservation.ts'
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
  readonly application: Application
  readonly listener: HttpListener
}

export function createHttpService(options: HttpServiceOptions): RunningHttpService {
  const { config, log, ports, threads, kernel, tls } = options
  const proxies = createProxies({
    trusted: config.trustedProxies,
    style: config.forwardedHeaders,
    trustHost: config.trustForwardedHost,
  })
  const nextRequestId = createRequestIds(ports.random)
  const portReservations = createPortReservations(threads, 's3')
  const addresses: Record<'s3' | 'console', ListenAddress> = {
    s3: requireAddress(config.address),
    console: requireAddress(config.consoleAddress),
  }
  // The main thread answers the few requests of the console; S3 runs in the front threads.
  const names: ('s3' | 'console')[] = []
  if (threads.isFront) names.push('s3')
  if (threads.isMain) names.push('console')
  const parts: Part[] = []
  /** With workers the main thread listens on the S3 port until they serve, and answers that the server is starting. */
  let doorkeeper: Part | undefined
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

  async function createPart(name: 's3' | 'console', isDoorkeeper = false): Promise<Part> {
    const application = await createApplication({
      listener: name,
      routes: options.routes.list().map(({ value }) => value),
      observers: options.observers.list().map(({ value }) => value),
      log,
      now: ports.clock.now,
    })
    const mount = options.mounts.list().find(({ value }) => value.listener === name)
    // This listener never opens; the protocol of its mount runs in workers.
    const handler = isDoorkeeper ? () => {} : mount?.value.handler
    const listener = createListener({
      name,
      limits: limitsOf(),
      proxies,
      proxyProtocol: config.proxyProtocol.includes(name),
      tls: tls.enabled ? tls.contextOptions() : undefined,
      mount: handler,
      application: application.handle,
      nextRequestId,
      clock: ports.clock,
      log,
    })
    return { name, address: addresses[name], application, listener }
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

  async function bind(part: Part): Promise<number> {
    const { listener, address } = part
    if (part.name === 'console' || threads.workerCount === 0) return listener.listen(address, false)
    return portReservations.bind(address.port, port => listener.listen({ ...address, port }, true))
  }

  async function bindAndNote(part: Part): Promise<void> {
    const port = await bind(part)
    bound.push({ name: part.name, address: part.address.host ?? '', port, secure: tls.enabled })
  }

  async function closePart(part: Part | undefined): Promise<void> {
    await part?.listener.close()
    await part?.application.close()
  }

  return {
    listeners: () => bound,
    get draining() {
      return draining
    },

    /** The main thread opens its ports at once: probes get the answer that the server is starting, even if storage takes long to open. */
    async start() {
      refuseTwoMounts()
      for (const name of names) parts.push(await createPart(name))
      if (threads.isMain) {
        if (threads.workerCount > 0) {
          // With SO_REUSEPORT a second server could take part of our connections; a bind without it shows that the port is free.
          await probePort('s3', addresses.s3)
          doorkeeper = await createPart('s3', true)
          await bind(doorkeeper)
        }
        for (const part of parts) await bindAndNote(part)
      }
      forgetState = kernel.onState(state => {
        if (state === 'draining') for (const { listener } of parts) listener.refuseNew()
      })
      if (tls.enabled) {
        forgetReloads = tls.onReload(() => {
          for (const { listener } of parts.concat(doorkeeper ?? [])) listener.replaceCertificate(tls.contextOptions())
        })
      }
    },

    async serve() {
      for (const part of parts) {
        part.listener.open()
        if (!threads.isMain) await bindAndNote(part)
      }
      if (!threads.isMain) return
      await closePart(doorkeeper)
      doorkeeper = undefined
      const sharedPort = portReservations.bound()
      if (sharedPort !== undefined) {
        bound.unshift({ name: 's3', address: addresses.s3.host ?? '', port: sharedPort, secure: tls.enabled })
      }
      for (const { name, port } of bound) {
        kernel.announce(name, formatAddress(addresses[name as 's3' | 'console'].host, port))
      }
    },

    async drain() {
      draining = true
      await Promise.all(parts.map(part => part.listener.drain()))
    },

    async stop() {
      draining = true
      forgetReloads?.()
      forgetState?.()
      await closePart(doorkeeper)
      for (const part of parts.splice(0)) await closePart(part)
      bound.length = 0
    },
  }
}

function requireAddress(text: string): ListenAddress {
  const address = parseListenAddress(text)
  if (typeof address === 'string') throw new TypeError(address)
  return address
}
