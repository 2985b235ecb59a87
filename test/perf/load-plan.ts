/** What the bench tells the load generator, and what it gets back. Everything survives JSON. */
import type { Credentials } from './signature.ts'

/** Targets by rule, for more of them than fit a message: `/bucket/dir-NNN/object-NNNNNNNNN`. */
export interface TargetRange {
  readonly bucket: string
  readonly first: number
  readonly count: number
}

/** `https` is HTTP/1.1, `h2` HTTP/2 with one request at a time on each connection. No certificate is verified. */
export type Protocol = 'http' | 'https' | 'h2'

export interface LoadPlan {
  readonly host: string
  readonly port: number
  /** Default: plain HTTP/1.1. */
  readonly protocol?: Protocol
  /** Undefined: requests are not signed, as those of visitors of a website. */
  readonly credentials: Credentials | undefined
  /** What `Host` says and the signature covers; the bench may replay requests for one server against another. */
  readonly signedHost: string
  readonly method: 'GET' | 'PUT' | 'DELETE'
  /** Paths with their query; used in turn by all connections, from the start again when they run out. */
  readonly targets: readonly string[] | TargetRange
  /** Above 1 MiB the body is sent as a stream and its hash is not signed (UNSIGNED-PAYLOAD). */
  readonly bodySizeBytes: number
  /** Of every request, signed; by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>
  readonly connectionCount: number
  readonly receiveBufferBytes: number
}

export interface LoadLimits {
  readonly requestCountMax: number
  /** No request is begun after this time. */
  readonly timeMsMax: number
  /** Return the ETag of each answer, by the order of the requests; only with a small `requestCountMax`. */
  readonly wantsEtags?: boolean
}

export interface LoadResult {
  readonly requestCount: number
  readonly seconds: number
  readonly receivedBodyBytes: number
  readonly sentBodyBytes: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the load generator itself, in seconds. */
  readonly clientCpuSeconds: number
  readonly etags: readonly string[]
}

export type LoadCommand =
  | { readonly kind: 'prepare'; readonly plan: LoadPlan }
  | { readonly kind: 'run'; readonly limits: LoadLimits }

export type LoadAnswer =
  | { readonly kind: 'prepared' }
  | { readonly kind: 'finished'; readonly result: LoadResult }
  | { readonly kind: 'failed'; readonly error: string }

const FOLDER_COUNT = 1000

/** The target of one object of a range. Objects spread over a thousand folders, so that both deep and flat listings have work. */
export function targetOf(bucket: string, index: number): string {
  const folder = String(index % FOLDER_COUNT).padStart(3, '0')
  return `/${bucket}/dir-${folder}/object-${String(index).padStart(9, '0')}`
}
