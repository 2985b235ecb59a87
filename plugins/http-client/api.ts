/**
 * Outgoing connections to hosts that operators and users name (webhooks, brokers, purges, identity providers). One check for all of
 * them, so that a host name cannot lead to a forbidden address: metadata services on link-local addresses give the credentials of this
 * machine to any local program. The addresses of a name are checked at the connection, not before. For HTTP there is a client; client
 * libraries of other protocols get a `lookup`.
 */
import type { LookupFunction } from 'node:net'

export { HttpClientError, type HttpClientErrorReason } from './error.ts'
export { createAddressGuard, type GuardOptions } from './guard.ts'
export { readSmallFile, readTlsFiles } from './tls-files.ts'

/**
 * The allowed addresses. `private`: everything except link-local, metadata, unspecified, multicast and reserved addresses;
 * loopback and private networks are allowed. `public`: neither are these.
 */
export type Reach = 'private' | 'public'

export interface HttpClientTls {
  /** PEM file with the authorities that are trusted, instead of the usual ones. Empty: the usual ones. */
  readonly authoritiesFile: string
  /** PEM files with the certificate that we show, and its key. Both or none. */
  readonly certificateFile: string
  readonly keyFile: string
  /** False: any certificate is taken. */
  readonly isVerified: boolean
}

export interface HttpClientOptions {
  /** Whose requests these are: `notify`, `audit`. A label of metrics. */
  readonly purpose: string
  readonly reach: Reach
  /** Addresses and CIDR blocks that are allowed, beside those that configuration allows. */
  readonly allowedNetworks?: readonly string[]
  /** Of one request, from looking up the name to the end of the answer. */
  readonly timeoutMs: number
  /** To one place, at once; further requests wait within their timeout. Default 8. */
  readonly connectionsMax?: number
  /** Files are read when the first connection is made, and again after a request has failed: renewed ones come into use. */
  readonly tls?: HttpClientTls
}

export interface HttpClientRequest {
  /** `http:` or `https:`. */
  readonly url: string
  /** Default POST with a body, otherwise GET. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
  readonly signal?: AbortSignal
  /** Of the answer's body; a longer one is an error. Default 0: the body is not waited for, read for a few KiB and dropped. */
  readonly answerBytesMax?: number
  /** It may be sent again at once, when a kept connection ends without an answer. */
  readonly isRepeatable?: boolean
}

export interface HttpClientAnswer {
  /** 200…599. Redirects are ordinary answers and are not followed. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
}

export interface HttpClient {
  /** Rejects with `HttpClientError`. */
  request(request: HttpClientRequest): Promise<HttpClientAnswer>
  /** Aborts requests and closes connections. Idempotent. */
  close(): Promise<void>
}

/** For client libraries that connect themselves. Both are needed: addresses are not looked up. */
export interface AddressGuard {
  /** For `net.connect`, `tls.connect` and libraries that pass it on to them: calls back with allowed addresses only. */
  readonly lookup: LookupFunction
  /** Throws HttpClientError for an address that may not be connected to; a name is checked by `lookup`. Before each connection. */
  check(host: string): void
  /** The same for settings, as a phrase that follows the name of a key: `must not be a link-local address`. */
  problem(host: string): string | undefined
  /** The data with which `createAddressGuard` makes the same guard in another thread. */
  readonly reach: Reach
  readonly allowedNetworks: readonly string[]
}

export interface HttpClientService {
  /** `allowedNetworks`: beside those that configuration allows. */
  guard(reach: Reach, allowedNetworks?: readonly string[]): AddressGuard
  /** Opens nothing until the first request. */
  client(options: HttpClientOptions): HttpClient
  /**
   * Why a URL cannot be one that is asked, as far as it shows without looking up names, as a phrase that follows the name of a key
   * (`must be …`). Never repeats the URL.
   */
  urlProblem(url: string, reach: Reach, allowedNetworks?: readonly string[]): string | undefined
}

declare module 'svc/kernel' {
  interface Services {
    httpClient: HttpClientService
  }
}
