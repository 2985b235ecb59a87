/**
 * Audit: one record per request, S3 and console alike, except anonymous health probes and successful anonymous reads of
 * metrics. Records go to the server log, to a ring in memory, and to whoever contributes to `audit.sink`.
 */
export type AuditIdentityType = 'root' | 'user' | 'access-key' | 'share' | 'anonymous'

export interface AuditRecord {
  readonly version: '1'
  /** ISO 8601: of the record, and of the request. */
  readonly time: string
  readonly event_time: string
  readonly node: string
  readonly requestId: string
  readonly type: 's3' | 'admin' | 'web'
  /** Name of the operation. */
  readonly api: string
  readonly bucket?: string
  readonly object?: string
  readonly identity: { readonly accessKey: string; readonly user: string; readonly type: AuditIdentityType }
  readonly clientIp: string
  readonly userAgent: string
  readonly method: string
  readonly path: string
  /** Decoded names and values; values of credentials are replaced. A repeated name keeps its last value. */
  readonly query: Readonly<Record<string, string>>
  readonly status: number
  readonly errorCode?: string
  readonly latencyMs: number
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly tags: Readonly<Record<string, string>>
}

/** Takes each record as it is written. Must return at once and must not throw: it queues what it has to deliver. */
export interface AuditSink {
  send(record: AuditRecord): void
}

export interface AuditService {
  /** The last records of this node, at most 10 000, newest first, from every thread. */
  recent(limit: number): Promise<readonly AuditRecord[]>
}

declare module 'svc/kernel' {
  interface Services {
    audit: AuditService
  }
  interface ExtensionPoints {
    'audit.sink': AuditSink
  }
}
