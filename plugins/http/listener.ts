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
import { answerBytes, answerFor, type Refusal, refusals } from './answers.ts'
import type { ListenerName, RawHandler } from './api.ts'
import { bindConnection, boundConnection, Connection, closeQueued } from './connection.ts'
import { HttpExchange, type ListenerState } from './exchange.ts'
import type { HostRouteAnswer, HostRouter } from './host-router.ts'
import { type ListenerLimits, listen, plainServer, secureServer } from './node-server.ts'
import type { Proxies } from './proxies.ts'
import { readProxyHeader } from './proxy-protocol.ts'
import { asksForUpgrade, flawOf, refusalFor } from './request-head.ts'
import { announceKeepAlive, type Http2Response, HttpResponse } from './response.ts'
import { watchSession } from './sessions.ts'
import { createIdleCheck, endRest } from './timeouts.ts'

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
/** Time for a refused client to read its answer. */
const lingerMs = 500
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
  let mounted = 0
  let awaited = 0
  let onDrained: (() => void) | undefined
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
    const key = options.tls === undefined ? '' : `${socket.remotePort} ${socket.remoteAddress}`
    if (options.tls !== undefined) connections.set(key, connection)
    socket.on('close', () => {
      sockets.delete(socket)
      if (connections.get(key) === connection) connections.delete(key)
      forget(connection)
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

  function track(request: IncomingMessage, response: HttpResponse): Connection | undefined {
    response.requestId = nextRequestId()
    const http2 = request.httpVersionMajor === 2 ? (response as unknown as Http2Response) : undefined
    const bearer = http2 === undefined ? request.socket : http2.stream.session
    const connection = bearer === undefined ? undefined : boundConnection(bearer)
    if (connection === undefined) return undefined
    response.countedBy = connection
    response.awaited = !state.draining
    connection.inFlight++
    if (response.awaited) countAwaited(connection, 1)
    connection.requests++
    connection.response = response
    response.onLateCall = onLateCall
    if (http2 === undefined) {
      if (connection.isResting) endRest(request.socket, connection, limits)
      announceKeepAlive(response, limits.keepAliveTimeoutMs)
      response.drainState = state
      if (connection.inFlight > 1) enqueue(request.socket, connection, response)
    } else {
      connection.streams?.add(http2)
      http2.setHeader('server', 'svc')
      http2.setHeader('x-amz-request-id', http2.requestId)
    }
    response.on('close', onResponseClose)
    return connection
  }

  function enqueue(socket: Socket, connection: Connection, response: HttpResponse): void {
    if (connection.queued === undefined) {
      connection.queued = new Set()
      socket.once('close', () => closeQueued(connection))
    }
    connection.queued.add(response)
  }

  function onResponseClose(this: HttpResponse): void {
    const connection = this.countedBy
    if (connection === undefined) return
    this.countedBy = undefined
    if (connection.response === this) connection.response = undefined
    connection.queued?.delete(this)
    connection.streams?.delete(this as unknown as Http2Response)
    if (connection.inFlight === 0) return
    connection.inFlight--
    if (this.mounted) countMounted(connection, -1)
    if (this.awaited) countAwaited(connection, -1)
  }

  function countMounted(connection: Connection, change: number): void {
    connection.mounted += change
    mounted += change
  }

  function countAwaited(connection: Connection, change: number): void {
    connection.awaited += change
    awaited += change
    if (awaited === 0 && onDrained !== undefined) onDrained()
  }

  /** Nobody waits for the answers of a closed connection; those that were queued on it are told a little later. */
  function forget(connection: Connection): void {
    connection.inFlight = 0
    countMounted(connection, -connection.mounted)
    countAwaited(connection, -connection.awaited)
  }

  function dispatch(request: IncomingMessage, response: HttpResponse, awaitsContinue: boolean): void {
    const connection = track(request, response)
    if (connection === undefined) {
      request.destroy()
      return
    }
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
    response.mounted = true
    countMounted(connection, 1)
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

  /** The connection ends: on it the client would ask for this host again. */
  function misdirect({ response }: HttpExchange): void {
    refuse(response as HttpResponse, refusals.misdirected)
    if (!(response instanceof HttpResponse)) (response as unknown as Http2Response).stream.session?.close()
  }

  function refuseLater({ response }: HttpExchange, refusal: Refusal): void {
    response.setHeader('retry-after', '1')
    refuse(response as HttpResponse, refusal)
  }

  function onDefect(exchange: HttpExchange, error: unknown): void {
    log.error({ err: error, operation: exchange.operation, requestId: exchange.requestId }, 'request handler failed')
    // The answer is whole: what failed came after it.
    if ((exchange.response as HttpResponse).hasEnded) return
    if (exchange.response.headersSent) {
      exchange.response.destroy()
      return
    }
    try {
      refuse(exchange.response as HttpResponse, refusals.defect)
    } catch (err) {
      // Nobody is left who could handle it, and an answer must not end the thread.
      log.error({ err, requestId: exchange.requestId }, 'the answer to a defect could not be written')
      exchange.response.destroy()
    }
  }

  function onLateCall({ requestId, operation }: HttpResponse, call: string): void {
    const err = new Error(`${call} after the end of the response`)
    log.error(
      { err, operation, requestId },
      'defect: a request handler goes on after its answer; the first answer counts',
    )
  }

  function refuse(response: HttpResponse, refusal: Refusal): void {
    const answer = answerFor(name, refusal, response.requestId)
    if (response instanceof HttpResponse) response.shouldKeepAlive = false
    response.writeHead(answer.status, [
      'Content-Type',
      answer.contentType,
      'Content-Length',
      String(Buffer.byteLength(answer.body)),
    ])
    response.end(answer.body)
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

  /** Answers a connection without a response object, unless an answer is already being sent on it. */
  function sendAndClose(socket: Socket, refusal: Refusal): void {
    const connection = boundConnection(socket)
    if (connection === undefined || connection.inFlight > 1 || connection.response?.headersSent) {
      socket.destroy()
      return
    }
    connection.ended = true
    socket.end(answerBytes(name, refusal, nextRequestId(), clock.now()))
    // Closing a socket with unread input would reset the connection, and the client would lose the answer.
    clock.after(lingerMs, () => socket.destroy())
  }

  return {
    name,
    get inFlight() {
      return mounted
    },
    listen: (address, reusePort) => listen(server, name, address, reusePort),
    replaceCertificate(tls) {
      if (options.tls !== undefined) (server as unknown as Http2SecureServer).setSecureContext(tls)
    },
    open() {
      state.starting = false
    },
    refuseNew,
    async drain(timeoutMs) {
      refuseNew()
      if (awaited > 0) {
        await new Promise<void>(resolve => {
          const cancel = clock.after(timeoutMs, resolve)
          onDrained = () => {
            cancel()
            resolve()
          }
        })
      }
      return awaited
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
