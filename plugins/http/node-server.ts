/** Node's servers with our limits. What each limit does to whom is in `timeouts.ts` and `sessions.ts`. */
import { createServer, type Server, type ServerOptions } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { SecureContextOptions } from 'node:tls'
import type { ListenAddress } from './address.ts'
import type { ListenerName } from './api.ts'
import { bindFailure } from './errors.ts'
import { Http2Response, HttpResponse } from './response.ts'
import { idleStepMs } from './timeouts.ts'

export interface ListenerLimits {
  /** Request line and headers together, in bytes. */
  readonly headerBytesMax: number
  readonly headerTimeoutMs: number
  /** Between two pieces of a request body that somebody waits for. */
  readonly bodyTimeoutMs: number
  /** Without progress of an answer. */
  readonly sendTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly connectionsMax: number
}

export function plainServer(limits: ListenerLimits): Server {
  return configure(createServer({ ...http1Options(limits), noDelay: true }), limits)
}

/** HTTP/2 and HTTP/1.1 by ALPN. The type is that of the plain server: what is used here, both have. */
export function secureServer(limits: ListenerLimits, tls: SecureContextOptions): Server {
  const server = createSecureServer({
    ...tls,
    allowHTTP1: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: 10_000,
    noDelay: true,
    Http2ServerResponse: Http2Response,
    ...http1Options(limits),
    http1Options: http1Options(limits),
    settings: { maxConcurrentStreams: 256, initialWindowSize: 1 << 20, maxHeaderListSize: limits.headerBytesMax },
  } as Parameters<typeof createSecureServer>[0])
  return configure(server as unknown as Server, limits)
}

function http1Options(limits: ListenerLimits): ServerOptions {
  return {
    ServerResponse: HttpResponse,
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.headerTimeoutMs,
    // An upload may take as long as it moves: `timeouts.ts` looks at progress, not at the whole.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(250, Math.min(5_000, limits.headerTimeoutMs / 2)),
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  }
}

function configure(server: Server, limits: ListenerLimits): Server {
  server.maxConnections = limits.connectionsMax
  // Headers beyond this count would be dropped silently; their bytes are bounded anyway.
  server.maxHeadersCount = 0
  server.timeout = idleStepMs(limits)
  return server
}

/** Opens the port; resolves with the one that was bound, rejects with `address_unavailable`. */
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
