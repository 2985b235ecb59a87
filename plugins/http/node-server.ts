/** Servers of Node.js with our limits. `timeouts.ts` and `sessions.ts` explain the effect of each limit. */
import { createServer, type Server, type ServerOptions } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { TlsOptions } from 'node:tls'
import type { ListenAddress } from './address.ts'
import type { ListenerName } from './api.ts'
import { bindFailure } from './errors.ts'
import { Http2Response, HttpResponse } from './response.ts'
import { idleStepMs } from './timeouts.ts'

export interface ListenerLimits {
  /** Maximum size of request line and headers together, in bytes. */
  readonly headerBytesMax: number
  readonly headerTimeoutMs: number
  /** Maximum time between two pieces of a request body that is being read. */
  readonly bodyTimeoutMs: number
  /** Maximum time without progress of an answer. */
  readonly sendTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly connectionsMax: number
}

export function plainServer(limits: ListenerLimits): Server {
  return configure(createServer({ ...http1Options(limits), noDelay: true }), limits)
}

/** HTTP/2 and HTTP/1.1 by ALPN. The type is that of the plain server: all members that are used here exist in both. */
export function secureServer(limits: ListenerLimits, tls: TlsOptions): Server {
  const server = createSecureServer({
    ...tls,
    allowHTTP1: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: 10_000,
    noDelay: true,
    Http2ServerResponse: Http2Response,
    ...http1Options(limits),
    http1Options: http1Options(limits),
    // Of streams that a client opens and resets at once: as many as it may have at a time, and then so many per second.
    streamResetBurst: 300,
    streamResetRate: 33,
    settings: { maxConcurrentStreams: 256, initialWindowSize: 1 << 20, maxHeaderListSize: limits.headerBytesMax },
  } as Parameters<typeof createSecureServer>[0])
  return configure(server as unknown as Server, limits)
}

function http1Options(limits: ListenerLimits): ServerOptions {
  return {
    ServerResponse: HttpResponse,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headerTimeoutMs,
    // An upload may take any time as long as it makes progress, which `timeouts.ts` checks.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(250, Math.min(5_000, limits.headerTimeoutMs / 2)),
    // `timeouts.ts` has the keep-alive time.
    keepAliveTimeout: 0,
    // Without a body a request is no stream that has to be read to its end, which takes several turns for each GET.
    optimizeEmptyRequests: true,
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  }
}

function configure(server: Server, limits: ListenerLimits): Server {
  server.maxConnections = limits.connectionsMax
  // Headers beyond this count would be dropped silently; the number of their bytes is limited anyway.
  server.maxHeadersCount = 0
  server.timeout = idleStepMs(limits)
  return server
}

/** Opens the port; resolves with the bound port, rejects with `address_unavailable`. */
export function listen(
  server: Server,
  name: ListenerName,
  address: ListenAddress,
  reusePort: boolean,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(bindFailure(name, address, error))
    server.once('error', onError)
    server.listen({ host: address.host, port: address.port, reusePort, backlog: 1024 }, () => {
      server.off('error', onError)
      const bound = server.address()
      resolve(bound !== null && typeof bound === 'object' ? bound.port : address.port)
    })
  })
}
