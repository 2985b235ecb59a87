/**
 * HTTP: the listeners, and what every protocol needs to know of a request before it looks into it. `http.mount` takes raw
 * handlers (the S3 protocol, for its speed and its odd paths) and `http.routes` takes Fastify plugins (health, metrics, the
 * Admin API). Paths under `/svc/` on the S3 listener always belong to Fastify.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyPluginAsync, FastifyPluginCallback } from 'fastify'
import type { Identity } from 'svc/plugins/iam/api'

export { type ListenAddress, networkOf, parseListenAddress } from './address.ts'
export { addressKey, consoleAddressKey, proxyProtocolKey } from './keys.ts'
export { type Problem, problemDocument, problemMediaType } from './problem.ts'
export {
  type RateLimitName,
  type RateLimitsService,
  type Refusal,
  refusalDetails,
  type ThrottleKind,
  throttledFamily,
} from './request-limits.ts'

export type ListenerName = 's3' | 'console' | 'web'

/** One request and its answer, with what proxies said about it already checked against `SVC_TRUSTED_PROXIES`. */
export interface Exchange {
  /** HTTP/1.1, or HTTP/2 through Node's compatibility layer. `request.url` is the raw target: use it for signatures. */
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly listener: ListenerName
  /** Unique, 16 upper-case hexadecimal characters. Every answer carries it as `x-amz-request-id`, beside `Server`: set neither. */
  readonly requestId: string
  /** Of the client itself, behind trusted proxies too. No port, no brackets, IPv4-mapped addresses as IPv4. */
  readonly clientAddress: string
  /** True when the client spoke TLS to us or to a trusted proxy. */
  readonly secure: boolean
  /** Host and port as the client named them (lower case), from `Host`, `:authority` or, if trusted, the forwarded host. */
  readonly host: string
  /** `ports.clock.monotonicNs()` when the head had been read. */
  readonly startedNs: bigint
  /** True while plugins still start: only the health routes are served, the listener refuses everything else with 503. */
  readonly starting: boolean
  /** True once the server drains: new requests are to be refused with 503. */
  readonly draining: boolean
  /** True while the client waits for `continue` before it sends its body. */
  readonly awaitsContinue: boolean
  /** Answers `Expect: 100-continue`; call before reading the body, once it is known that it is wanted. Idempotent. */
  continue(): void
}

export type RawHandler = (exchange: Exchange) => void | Promise<void>

export interface HttpMount {
  readonly listener: ListenerName
  /** Takes each request of the listener that Fastify does not own. One mount per listener. */
  readonly handler: RawHandler
}

export interface HttpRoutes {
  /** Where the routes are served; on the S3 listener only paths under `/svc/` reach them. */
  readonly listeners: readonly ListenerName[]
  readonly plugin: FastifyPluginCallback | FastifyPluginAsync
}

/** What audit and trace shall say of a request that one route alone does not tell. */
export interface RequestFacts {
  readonly operation?: string
  readonly bucket?: string
  readonly key?: string
  readonly errorCode?: string
  /** Of a refused request: `throttled`, `claimedAccessKey` (in part) and others. */
  readonly tags?: Readonly<Record<string, string>>
  /** Where the Content-Length of request and answer do not tell. */
  readonly receivedBytes?: number
  readonly sentBytes?: number
}

/** One request that Fastify answered, after its answer. Requests of mounts are the mount's own business. */
export interface HttpRequestRecord {
  readonly listener: ListenerName
  /** What answered said (`RequestFacts`), else `config.operation` of the route; empty where nothing matched. */
  readonly operation: string
  /** What the request was about, as far as it was told; empty otherwise. */
  readonly bucket: string
  readonly key: string
  /** Of the problem document that was the answer. */
  readonly errorCode: string | undefined
  readonly tags?: Readonly<Record<string, string>>
  readonly requestId: string
  readonly method: string
  /** Raw path, and raw query without its question mark. */
  readonly path: string
  readonly query: string
  /** The request came with an Authorization header, a cookie or a signature in its query, valid or not. */
  readonly presentsCredentials: boolean
  /** Who authentication found; undefined for anonymous and refused requests. */
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
  /** The addresses that are bound; known once `serve` is done. Front threads share one port per listener. */
  listeners(): readonly BoundListener[]
  readonly draining: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The request as the listener sees it: client address, TLS, request id. */
    readonly exchange: Exchange
    /** Set by whoever authenticates the request, for audit and trace. */
    identity: Identity | undefined
    /** Set by whoever answers the request, for audit and trace. */
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
  }
}
