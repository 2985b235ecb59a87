/**
 * Audit: one record per request, S3 and console alike, except anonymous health probes and successful anonymous reads of
 * metrics. Records go to the server log, to a ring in memory, and to the targets that operators configure. A plugin that
 * contributes to the public extension point `audit.sink` implements a kind of target: see examples/plugin-audit.
 */
import type { Target, TargetKind } from 'svc/plugins/delivery/api'
import type { TObject } from 'typebox'
import type { AuditMatches, AuditSearch } from './search.ts'

export { PermanentDeliveryError, type TargetContext as AuditTargetContext } from 'svc/plugins/delivery/api'
export type { AuditMatches, AuditSearch } from './search.ts'

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
  /** The one that the request names. */
  readonly versionId?: string
  readonly identity: { readonly accessKey: string; readonly user: string; readonly type: AuditIdentityType }
  readonly clientIp: string
  readonly userAgent: string
  readonly method: string
  readonly path: string
  /** Decoded names and values; values of credentials are redacted. A repeated name keeps its last value. */
  readonly query: Readonly<Record<string, string>>
  readonly status: number
  readonly errorCode?: string
  readonly latencyMs: number
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly tags: Readonly<Record<string, string>>
}

/** One record, as targets get it. */
export interface AuditMessage {
  /** `<node>/<request id>`: the same for every attempt. */
  readonly key: string
  /** The record as JSON in UTF-8, without a newline. */
  readonly body: Buffer
}

/**
 * A target that is configured and enabled. One `send` at a time; the records of one call may reach the destination in any order. See
 * `Target` and `TargetKind` in `plugins/delivery/api.ts` for every member.
 */
export interface AuditTarget extends Target<AuditMessage> {}

/** A kind of target; its id in the extension point (`webhook`) makes the subsystem `audit_webhook`. Contributed in every thread. */
export interface AuditSinkKind<Schema extends TObject = TObject> extends TargetKind<Schema, AuditTarget> {}

/** A target that is configured, and its state since the start. */
export interface AuditTargetState {
  /** `audit_webhook:_` */
  readonly id: string
  readonly kind: string
  readonly isEnabled: boolean
  /** Without credentials. */
  readonly endpoint: string
  readonly isOnline: boolean
  /** In memory and in the queue. */
  readonly pendingRecords: number
  /** Refused for good, and not sent again. */
  readonly deadLetters: number
  readonly droppedTotal: number
  readonly failedTotal: number
  /** Empty if there is none. */
  readonly lastError: string
  /** Of a delivery; undefined when none has failed since the last success. */
  readonly lastErrorMs: number | undefined
  readonly lastSuccessMs: number | undefined
  readonly queueLimit: number
}

export interface AuditService {
  /** All configured targets, by id, in any thread. */
  targets(): Promise<readonly AuditTargetState[]>
  /** The last records of this node, at most 10 000, newest first, from every thread. */
  recent(limit: number): Promise<readonly AuditRecord[]>
  /** Finds matching records, the newest first. Blocks a thread for a few milliseconds at most. */
  search(search: AuditSearch): Promise<AuditMatches>
}

declare module 'svc/kernel' {
  interface Services {
    audit: AuditService
  }
  interface ExtensionPoints {
    // biome-ignore lint/suspicious/noExplicitAny: each kind has its own settings, which only it and the schema know
    'audit.sink': AuditSinkKind<any>
  }
}
