/**
 * HTTP: the listeners, and the facts of a request that all protocols need. `http.mount` takes raw handlers (the S3 protocol, for its speed
 * and its unusual paths) and `http.routes` takes Fastify plugins (health, metrics, the Admin API). Paths under `/svc/` on the S3 listener
 * always belong to Fastify.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyPluginCallback } from 'fastify'
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'

export { type ListenAddress, type NetworkBits, networkOf, networksOf, parseListenAddress } from './address.ts'
export { type HeaderBlock, headerBlock, writeBlock } from './header-block.ts'
export { addressKey, consoleAddressKey, proxyProtocolKey } from './keys.ts'
export { type Problem, problemDocument, problemMediaType } from './problem.ts'
export {
  type CustomLimit,
  type RateLimitName,
  type RateLimitsService,
  type Refusal,
  refusalDetails,
  type ThrottleKind,
  throttledFamily,
} from './request-limits.ts'

export type ListenerName = 's3' | 'console' | 'web' | 'web-tls'

/** One request and its answer. Facts from proxies are already checked against `SVC_TRUSTED_PROXIES`. */
export interface Exchange {
  /**
   * HTTP/1.1, or HTTP/2 through the compatibility layer of Node.js. `request.url` is the raw target, which signatures cover. Without a body
   * (neither `Content-Length` nor `Transfer-Encoding`) it has ended when it comes: `readableEnded`, and no event follows.
   */
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly listener: ListenerName
  /**
   * Unique, 16 upper-case hexadecimal characters. Every answer has it as `x-amz-request-id`, and the header `Server`: handlers set neither.
   */
  readonly requestId: string
  /** The client's own address, also behind trusted proxies. No port, no brackets, IPv4-mapped addresses as IPv4. */
  readonly clientAddress: string
  /** True if the client used TLS to this server or to a trusted proxy. */
  readonly secure: boolean
  /** Host and port as the client sent them (lower case), from `Host`, `:authority` or, if trusted, the forwarded host. */
  readonly host: string
  /** Name of the operation, set by the protocol as soon as it knows it: for the log of defects. Empty before. */
  operation: string
  /** `ports.clock.monotonicNs()` after the head was read. */
  readonly startedNs: bigint
  /** True while plugins start: only health routes are served, the listener answers all other requests with 503. */
  readonly starting: boolean
  /** True while the server drains: new requests are answered with 503. */
  readonly draining: boolean
  /** True while the client waits for `continue` before it sends its body. */
  readonly awaitsContinue: boolean
  /** Sends `100 Continue`; to be called before the body is read, if it is needed. Idempotent. */
  continue(): void
}

export type RawHandler = (exchange: Exchange) => void | Promise<void>

export interface HttpMount {
  readonly listener: ListenerName
  /** Handles all requests of the listener that do not belong to Fastify. One mount per listener. */
  readonly handler: RawHandler
}

/**
 * Takes requests by their host, or by a path that every host has, before the protocol of the listener sees them. Paths under `/svc/` on the
 * S3 listener never come here.
 */
export interface HostRoute {
  /** Challenges are asked first: a certificate authority asks for them on hosts that something else answers. */
  readonly stage: 'challenge' | 'host'
  readonly listeners: readonly ('s3' | 'web' | 'web-tls')[]
  /** Only targets that begin with it are asked about, byte by byte. Default: all. */
  readonly pathPrefix?: string
  /**
   * What answers the request; `misdirected` refuses it with 421 and ends the connection; undefined leaves it to the next route, and in the
   * end to the listener's mount. The web listeners have none and answer 421. Never asked while the server drains. Must not throw for
   * what a client sends; makes a promise only where something has to be read.
   */
  find(exchange: Exchange): MaybePromise<RawHandler | 'misdirected' | undefined>
}

export interface HttpRoutes {
  /** The listeners of the routes; on the S3 listener only paths under `/svc/` reach them. */
  readonly listeners: readonly ListenerName[]
  readonly plugin: FastifyPluginCallback | FastifyPluginAsync
}

/** Facts for audit and trace that the route alone does not give. */
export interface RequestFacts {
  readonly operation?: string
  readonly bucket?: string
  readonly key?: string
  readonly errorCode?: string
  /** Of a refused request `throttled`, `claimedAccessKey` (partial) and others; what the operation noted. */
  readonly tags?: Readonly<Record<string, string>>
  /** If the Content-Length of request and answer are not the right numbers. */
  readonly receivedBytes?: number
  readonly sentBytes?: number
}

/** One request that Fastify or a host route answered. Mounts record their requests themselves. */
export interface HttpRequestRecord {
  readonly listener: ListenerName
  /** Of a request that a distribution answered, on whichever listener. */
  readonly type?: 'web'
  /** Default: where it presents credentials, or is neither a probe nor a scrape. */
  readonly isAudited?: boolean
  /** From the handler (`RequestFacts`), otherwise `config.operation` of the route; empty if no route matched. */
  readonly operation: string
  /** The resource of the request, if the handler gave it; otherwise empty. */
  readonly bucket: string
  readonly key: string
  /** The code of the problem document, if that was the answer. */
  readonly errorCode: string | undefined
  readonly tags?: Readonly<Record<string, string>>
  readonly requestId: string
  readonly method: string
  /** Raw path, and raw query without its question mark. */
  readonly path: string
  readonly query: string
  /** The request had an Authorization header, a cookie or a signature in its query, valid or not. */
  readonly presentsCredentials: boolean
  /** The authenticated identity; undefined for anonymous and refused requests. */
  readonly identity: Identity | undefined
  readonly clientAddress: string
  readonly userAgent: string
  readonly status: number
  /** Milliseconds since 1970 when the request arrived. */
  readonly timeMs: number
  readonly durationMs: number
  readonly receivedBytes: number
  readonly sentBytes: number
  /** The request itself, for what is rarely asked: other headers, the connection. Its body is over. */
  readonly request?: Pick<IncomingMessage, 'headers' | 'httpVersion' | 'socket'>
}

/** Must not throw, and must not wait. */
export type HttpObserver = (record: HttpRequestRecord) => void

export interface BoundListener {
  readonly name: ListenerName
  readonly address: string
  readonly port: number
  readonly secure: boolean
}

export interface HttpService {
  /** The bound addresses; known after `serve`. Front threads share one port per listener. */
  listeners(): readonly BoundListener[]
  readonly draining: boolean
  /** For whoever answers a host: tells the observers of a request that is over. Never throws. */
  observe(record: HttpRequestRecord): void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The facts of the listener: client address, TLS, request id. */
    readonly exchange: Exchange
    /** Set by the plugin that authenticates the request, for audit and trace. */
    identity: Identity | undefined
    /** Set by the plugin that answers the request, for audit and trace. */
    facts: RequestFacts | undefined
  }
  interface FastifyContextConfig {
    /** Name of the operation in audit, trace and metrics. */
    operation?: string
  }
}

declare module 'svc/kernel' {
  interface Services {
    http: HttpService
  }
  interface ExtensionPoints {
    'http.mount': HttpMount
    'http.routes': HttpRoutes
    'http.observer': HttpObserver
    /** Who answers a host; see `HostRoute`. */
    'host.route': HostRoute
  }
}
