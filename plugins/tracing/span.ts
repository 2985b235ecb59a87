/**
 * Spans from the records of the two kinds of requests. Attributes have the names of OpenTelemetry's semantic conventions (HTTP server
 * spans, AWS S3), and those that are ours begin with `svc.`. Headers and bodies are not among them, and credentials of the query are
 * replaced as in the live trace.
 */
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { redactQuery } from 'svc/plugins/trace/api'
import type { TraceParent } from './trace-context.ts'

export type RequestRecord = S3RequestRecord | HttpRequestRecord

/** Values that are empty are left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>

export interface Span {
  /** 16 bytes. */
  readonly traceId: Uint8Array
  /** 8 bytes. */
  readonly spanId: Uint8Array
  /** 8 bytes; undefined for the first span of a trace. */
  readonly parentSpanId: Uint8Array | undefined
  readonly traceState: string
  readonly name: string
  /** Milliseconds since 1970. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  /** Only failures of the server are failures of its spans. */
  readonly isFailed: boolean
}

/** Maximum length of one attribute: keys have up to 1024 bytes, three times as many when encoded in a path. */
const attributeCharsMax = 3072

/** Probes and scrapes come every few seconds, and their traces are of no use. */
export function isTraced(record: RequestRecord): boolean {
  if (!('listener' in record)) return true
  return !record.path.startsWith('/svc/health/') && !record.path.startsWith('/svc/metrics/')
}

export interface SpanIds {
  traceId(): Uint8Array
  spanId(): Uint8Array
}

export function spanOf(record: RequestRecord, parent: TraceParent | undefined, ids: SpanIds): Span {
  const { timeMs, durationMs, status } = record
  return {
    traceId: parent === undefined ? ids.traceId() : Buffer.from(parent.traceId, 'hex'),
    spanId: ids.spanId(),
    parentSpanId: parent && Buffer.from(parent.spanId, 'hex'),
    traceState: parent?.state ?? '',
    name: `${kindOf(record)} ${record.operation === '' ? 'Unknown' : record.operation}`,
    startMs: timeMs,
    endMs: timeMs + durationMs,
    attributes: attributesOf(record),
    isFailed: status >= 500,
  }
}

function kindOf(record: RequestRecord): string {
  if (!('listener' in record)) return 's3'
  return record.type ?? (record.listener === 'console' ? 'admin' : 's3')
}

function attributesOf(record: RequestRecord): Attributes {
  const { status, errorCode, query = '', request } = record
  return {
    'http.request.method': record.method,
    'http.response.status_code': status,
    'url.path': clip(record.path),
    'url.query': clip(redactQuery(query)),
    'url.scheme': schemeOf(request),
    'network.protocol.name': 'http',
    'network.protocol.version': request?.httpVersion,
    'client.address': record.clientAddress,
    'error.type': status >= 500 ? (errorCode ?? `${status}`) : undefined,
    'http.request.body.size': record.receivedBytes,
    'http.response.body.size': record.sentBytes,
    'aws.s3.bucket': record.bucket,
    'aws.s3.key': clip(record.key),
    'enduser.id': record.identity?.accessKey,
    'svc.request_id': record.requestId,
    'svc.operation': record.operation,
    'svc.error_code': errorCode,
    'svc.throttled': record.tags?.throttled,
  }
}

/** Scheme of the connection to this server, which a proxy may have made. */
function schemeOf(request: RequestRecord['request']): string {
  try {
    return request !== undefined && 'encrypted' in request.socket ? 'https' : 'http'
  } catch {
    // The socket of an HTTP/2 connection that has ended throws when it is asked; we speak HTTP/2 over TLS alone.
    return 'https'
  }
}

function clip(text: string): string {
  return text.length <= attributeCharsMax ? text : `${text.slice(0, attributeCharsMax)}…`
}
