/**
 * One listener: a Node.js server with our limits, which passes each request to the protocol that owns it. Handles slow clients, malformed
 * heads, PROXY headers and draining; does not interpret requests.
 */
import type { IncomingMessage } from 'node:http'
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2'
import { Socket } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Clock, Logger } from 'svc/kernel'
import type { TlsService } from 'svc/plugins/tls/api'
import { type ListenAddress, plainAddress } from './address.ts'
import { refusals } from './answers.ts'
import type { ListenerName, RawHandler } from './api.ts'
import { bindConnection, boundConnection, Connection } from './connection.ts'
import { HttpExchange, type ListenerState } from './exchange.ts'
import { createHeadless } from './headless.ts'
import type { HostRouteAnswer, HostRouter } from './host-router.ts'
import { createInFlight } from './in-flight.ts'
import { type ListenerLimits, listen, plainServer, secureServer } from './node-server.ts'
import type { Proxies } from './proxies.ts'
import { readProxyHeader } from './proxy-protocol.ts'
import { createRefusing } from './refusing.ts'
import { asksForUpgrade, flawOf, refusalFor } from './request-head.ts'
import type { HttpResponse } from './response.ts'
import { watchSession } from './sessions.ts'
import { createIdleCheck } from './timeouts.ts'

export interface ListenerOptions {
  readonly name: ListenerName
  readonly limits: ListenerLimits
  readonly proxies: Proxies
  readonly proxyProtocol: boolean
  /** With a value: TLS, with HTTP/2 and HTTP/1.1. */
  readonly tls: Pick<TlsService, 'serverOptions' | 'admit'> | undefined
  /** Takes what routes and the application leave; without it everything goes to the application. */
  readonly mount: RawHandler | undefined
  /** Asked before the mount. Undefined where nobody has a route on this listener. */
  readonly route: HostRouter | undefined
  /** Absent on the web listeners: nothing of the server's own is there, and what no route takes is refused. */
  readonly application: ((exchange: HttpExchange) => void) | undefined
  readonly nextRequestId: () => string
  readonly clock: Clock
  readonly log: Logger
}

export interface HttpListener {
  readonly name: ListenerName
  /** Requests of the mount whose answers are not finished. */
  readonly inFlight: number
  /** Opens the port; resolves with the bound port. Until `open`, requests are answered that the server is starting. */
  listen(address: ListenAddress, reusePort: boolean): Promise<number>
  /** From now on requests are served. */
  open(): void
  replaceCertificate(options: SecureContextOptions): void
  /** From now on new requests are refused, because the server is stopping, and each answer ends its connection. */
  refuseNew(): void
  /** Like `refuseNew`; resolves when all earlier requests are answered, or with the number of those that are not after so long. */
  drain(timeoutMs: number): Promise<number>
  /** Closes all connections at once. */
  close(): Promise<void>
}

const applicationPrefix = '/svc/'
const proxyHeaderTimeoutMs = 5_000
/** Maximum number of unanswered requests on one HTTP/1.1 connection. */
const pipelinedMax = 100

export function createListener(options: ListenerOptions): HttpListener {
  const { name, limits, proxies, nextRequestId, clock, log, mount, route, application } = options
  const state: ListenerState = { starting: true, draining: false }
  const environment = { listener: name, proxies, state }
  const sockets = new Set<Socket>()
  const sessions = new Set<ServerHttp2Session>()
  /** TLS connections by remote port and address: TLS sockets and sessions have no reference to their TCP connection. */
  const connections = new Map<string, Connection>()
  const { refuse, refuseLater, misdirect, onDefect, onLateCall, sendAndClose } = createRefusing(options)
  const inFlight = createInFlight({ limits, state, clock, nextRequestId, onLateCall })
  const headless = createHeadless(limits.connectionsMax)
  let refusedProxies = 0

  const server = options.tls === undefined ? plainServer(limits) : secureServer(limits, options.tls.serverOptions())
  server.on('request', (request: IncomingMessage, response: HttpResponse) => dispatch(request, response, false))
  server.on('checkContinue', (request: IncomingMessage, response: HttpResponse) => dispatch(request, response, true))
  server.on('checkExpectation', (request: IncomingMessage, response: HttpResponse) => {
    // Node.js knows it in lower case only over HTTP/2, but Go sends it with a capital letter. Other expectations are ignored, as on AWS.
    dispatch(request, response, /^\s*100-continue\s*$/i.test(request.headers.expect ?? ''))
  })
  server.on('clientError', onClientError)
  const idleCheck = createIdleCheck(limits, socket => sendAndClose(socket, refusals.timeout))
  // HTTP/2 sessions have their own check.
  server.on('timeout', (bearer: Socket | ServerHttp2Session) => {
    if (bearer instanceof Socket) idleCheck(bearer)
  })
  // The server's own handling of connections comes behind what stands in front of it: PROXY headers, and what `tls` answers itself.
  const attached = options.proxyProtocol || options.tls !== undefined ? server.listeners('connection') : []
  if (attached.length > 0) server.removeAllListeners('connection')
  if (options.proxyProtocol) expectProxyHeaders()
  else server.on('connection', (socket: Socket) => accept(socket, plainAddress(socket.remoteAddress), false))
  if (options.tls !== undefined) acceptSecure()

  /** Registers a TCP connection and the address of its client, and hands it on to the server. */
  function accept(socket: Socket, peerAddress: string, secure: boolean): void {
    sockets.add(socket)
    const connection = new Connection(peerAddress, secure || options.tls !== undefined, proxies)
    bindConnection(socket, connection)
    headless.add(connection, socket, sockets.size)
    const key = options.tls === undefined ? '' : `${socket.remotePort} ${socket.remoteAddress}`
    if (options.tls !== undefined) connections.set(key, connection)
    socket.on('close', () => {
      sockets.delete(socket)
      headless.delete(connection)
      if (connections.get(key) === connection) connections.delete(key)
      inFlight.forget(connection)
    })
    const attach = () => {
      for (const listener of attached) listener.call(server, socket)
    }
    if (options.tls === undefined) attach()
    else options.tls.admit(socket, attach)
  }

  function acceptSecure(): void {
    server.on('secureConnection', (socket: Socket) => {
      const connection = connections.get(`${socket.remotePort} ${socket.remoteAddress}`)
      // The TCP connection was closed while the handshake ended.
      if (connection === undefined) socket.destroy()
      else bindConnection(socket, connection)
    })
    // Failed handshakes are common on a public port; Node.js closes those connections.
    server.on('tlsClientError', () => {})
    server.on('sessionError', () => {})
    server.on('session', (session: ServerHttp2Session) => {
      const connection = connections.get(`${session.socket.remotePort} ${session.socket.remoteAddress}`)
      if (connection === undefined) return session.destroy()
      connection.streams = new Set()
      bindConnection(session, connection)
      sessions.add(session)
      session.on('close', () => sessions.delete(session))
      watchSession(session, connection, limits)
    })
  }

  /** Reads the PROXY header before the server handles a connection. */
  function expectProxyHeaders(): void {
    server.on('connection', (socket: Socket) => {
      const peer = plainAddress(socket.remoteAddress)
      if (!proxies.isTrusted(peer)) return refuseProxy(socket, `${peer} is not a trusted proxy`)
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      readProxyHeader(socket, clock.after, proxyHeaderTimeoutMs, outcome => {
        if (!outcome.ok) return refuseProxy(socket, outcome.reason)
        accept(socket, outcome.source?.address ?? peer, outcome.secure)
      })
    })
  }

  function refuseProxy(socket: Socket, reason: string): void {
    socket.destroy()
    // A misconfigured load balancer causes many of these; further lines would only fill the log.
    refusedProxies++
    if (refusedProxies <= 10 || refusedProxies % 1000 === 0) {
      log.warn({ listener: name, reason, refused: refusedProxies }, 'connection without a valid PROXY header closed')
    }
  }

  function dispatch(request: IncomingMessage, response: HttpResponse, awaitsContinue: boolean): void {
    const connection = inFlight.begin(request, response)
    if (connection === undefined) {
      request.destroy()
      return
    }
    if (connection.requests === 1) headless.delete(connection)
    if (connection.inFlight > pipelinedMax && request.httpVersionMajor === 1) {
      // Each waiting request has memory and files. No S3 client sends so many without waiting for answers.
      request.socket.destroy()
      return
    }
    // The connection ends with the answer before.
    if (connection.askedForUpgrade) return
    if (asksForUpgrade(request)) {
      connection.askedForUpgrade = true
      response.shouldKeepAlive = false
    }
    const refusal = flawOf(request)
    if (refusal !== undefined) {
      refuse(response, refusal)
      return
    }
    const exchange = new HttpExchange(
      request,
      response,
      response.requestId,
      clock.monotonicNs(),
      connection,
      environment,
      awaitsContinue,
    )
    if (application !== undefined && (mount === undefined || request.url?.startsWith(applicationPrefix))) {
      exchange.continue()
      application(exchange)
      return
    }
    if (state.starting) {
      refuseLater(exchange, refusals.starting)
      return
    }
    inFlight.mount(connection, response)
    try {
      const pending = route === undefined ? give(exchange, mount) : serveRouted(exchange, route)
      if (pending instanceof Promise) pending.catch(error => onDefect(exchange, error))
    } catch (error) {
      onDefect(exchange, error)
    }
  }

  function serveRouted(exchange: HttpExchange, ask: HostRouter): void | Promise<void> {
    // A protocol refuses in its own words.
    if (state.draining && mount !== undefined) return give(exchange, mount)
    if (state.draining) return refuseLater(exchange, refusals.draining)
    const found = ask(exchange)
    return found instanceof Promise ? found.then(taken => give(exchange, taken)) : give(exchange, found)
  }

  function give(exchange: HttpExchange, taken: HostRouteAnswer): void | Promise<void> {
    const handler = taken ?? mount
    if (handler === undefined || handler === 'misdirected') return misdirect(exchange)
    return handler(exchange)
  }

  function onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection = boundConnection(socket)
    if (connection?.ended) return
    if (error.code === 'ECONNRESET' || error.code === 'EPIPE' || !socket.writable || connection === undefined) {
      socket.destroy()
    } else {
      sendAndClose(socket, refusalFor(error))
    }
  }

  return {
    name,
    get inFlight() {
      return inFlight.mounted
    },
    listen: (address, reusePort) => listen(server, name, address, reusePort),
    replaceCertificate(tls) {
      if (options.tls !== undefined) (server as unknown as Http2SecureServer).setSecureContext(tls)
    },
    open() {
      state.starting = false
    },
    refuseNew,
    drain(timeoutMs) {
      refuseNew()
      return inFlight.drained(timeoutMs)
    },
    async close() {
      state.starting = false
      state.draining = true
      if (server.listening) await new Promise<void>(resolve => closeServer(resolve))
      else closeConnections()
    },
  }

  function refuseNew(): void {
    if (state.draining) return
    state.starting = false
    state.draining = true
    server.closeIdleConnections()
    for (const session of sessions) session.close()
  }

  function closeServer(done: () => void): void {
    server.close(() => done())
    closeConnections()
  }

  function closeConnections(): void {
    for (const session of sessions) session.destroy()
    for (const socket of sockets) socket.destroy()
  }
}
