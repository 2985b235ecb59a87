/** Live trace: each request of this node as one line, for subscribers. Headers and bodies never appear in it. */

export { isSecretParameter, redactedText, redactQuery, redactUrl } from './redaction.ts'

export type TraceType = 's3' | 'admin' | 'web' | 'rpc'

export interface TraceLine {
  /** ISO 8601, when the request arrived. */
  readonly time: string
  readonly node: string
  readonly type: TraceType
  readonly operation: string
  readonly status: number
  readonly durationMs: number
  readonly method: string
  /** Path and query, credentials in it redacted. */
  readonly path: string
  readonly bytesReceived: number
  readonly bytesSent: number
  /** Access key; empty for anonymous requests. */
  readonly user: string
  readonly client: string
  readonly requestId: string
  /** By which limit it was refused. */
  readonly throttled?: string
  readonly error?: string
}

/** Everything that is set must hold. */
export interface TraceFilter {
  readonly types?: readonly TraceType[]
  /** Statuses and classes: `503`, `5xx`. */
  readonly statuses?: readonly string[]
  /** Operation name; a trailing `*` matches any rest. */
  readonly operation?: string
  readonly bucket?: string
  /** Status 400 and above. */
  readonly errors?: boolean
  readonly minDurationMs?: number
}

export interface TraceSubscription {
  /** Lines that this subscription lost because they came faster than they could be handed over. */
  readonly dropped: number
  end(): void
}

export interface TraceService {
  /**
   * Calls the listener with each matching line of every thread, in order per thread. It must return quickly and must not throw.
   */
  subscribe(filter: TraceFilter, listener: (line: TraceLine) => void): TraceSubscription
}

declare module 'svc/kernel' {
  interface Services {
    trace: TraceService
  }
}
