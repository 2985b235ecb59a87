/** Audit records from the records of the two kinds of requests. */
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { isSecretParameter, redactedText } from 'svc/plugins/trace/api'
import type { AuditRecord } from './api.ts'

export type RequestRecord = S3RequestRecord | HttpRequestRecord

/** False for anonymous probes and public scrapes: they come every few seconds and concern no user. */
export function isAudited(record: HttpRequestRecord): boolean {
  if (record.isAudited !== undefined) return record.isAudited
  if (record.presentsCredentials) return true
  if (record.path.startsWith('/svc/health/')) return false
  return !(record.path.startsWith('/svc/metrics/') && record.status < 400)
}

export function typeOf(record: RequestRecord): AuditRecord['type'] {
  if ('type' in record && record.type !== undefined) return record.type
  return 'listener' in record && record.listener === 'console' ? 'admin' : 's3'
}

export function apiOf(record: RequestRecord): string {
  return record.operation === '' ? 'Unknown' : record.operation
}

export function identityOf(identity: Identity | undefined): AuditRecord['identity'] {
  if (identity === undefined) return { accessKey: '', user: '', type: 'anonymous' }
  return {
    accessKey: identity.accessKey,
    user: identity.userName ?? identity.displayName,
    type: typeOfIdentity(identity),
  }
}

/** The type of the credentials: an access key of root is an `access-key`, with all rights of root. A session counts as its user. */
function typeOfIdentity({ kind, isRoot }: Identity): AuditRecord['identity']['type'] {
  if (kind === 'access-key' || kind === 'share') return kind
  return isRoot ? 'root' : 'user'
}

export function queryOf(record: RequestRecord): Record<string, string> {
  const query = record.query ?? ''
  const parameters: Record<string, string> = {}
  for (let start = 0; start < query.length; ) {
    let end = query.indexOf('&', start)
    if (end < 0) end = query.length
    const equals = query.indexOf('=', start)
    const nameEnd = equals < 0 || equals > end ? end : equals
    const rawName = query.slice(start, nameEnd)
    const rawValue = query.slice(Math.min(nameEnd + 1, end), end)
    const value = rawValue === '' ? '' : isSecretParameter(rawName, rawValue) ? redactedText : decode(rawValue)
    setParameter(parameters, decode(rawName), value)
    start = end + 1
  }
  return parameters
}

function setParameter(parameters: Record<string, string>, name: string, value: string): void {
  if (name === '__proto__') {
    // An assignment would set the prototype.
    Object.defineProperty(parameters, name, { value, enumerable: true, configurable: true, writable: true })
  } else parameters[name] = value
}

function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    // Not UTF-8: shown as received.
    return text
  }
}

/** The version that a request names; undefined: none, or a page of a website, where the parameter means nothing. */
export function versionOf(record: RequestRecord, query: Readonly<Record<string, string>>): string | undefined {
  return 'key' in record && record.key !== '' && typeOf(record) !== 'web' ? query.versionId : undefined
}

const noTags = {}

/** The record as an object, for sinks and searches. */
export function auditRecordOf(record: RequestRecord, node: string, timeMs: number): AuditRecord {
  const { bucket, key, errorCode } = 'bucket' in record ? record : noResource
  const query = queryOf(record)
  const versionId = versionOf(record, query)
  return {
    version: '1',
    time: new Date(timeMs).toISOString(),
    event_time: new Date(record.timeMs).toISOString(),
    node,
    requestId: record.requestId,
    type: typeOf(record),
    api: apiOf(record),
    ...(bucket === '' ? {} : { bucket }),
    ...(key === '' ? {} : { object: key }),
    ...(versionId === undefined ? {} : { versionId }),
    identity: identityOf(record.identity),
    clientIp: record.clientAddress,
    userAgent: record.userAgent,
    method: record.method,
    path: record.path,
    query,
    status: record.status,
    ...(errorCode === undefined ? {} : { errorCode }),
    latencyMs: roundedMs(record.durationMs),
    bytesReceived: record.receivedBytes,
    bytesSent: record.sentBytes,
    tags: record.tags ?? noTags,
  }
}

const noResource = { bucket: '', key: '', errorCode: undefined }

/** Microseconds are enough. */
export function roundedMs(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000
}
