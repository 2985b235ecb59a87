/** Audit records from the records of the two kinds of requests. */
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { Identity } from 'svc/plugins/iam/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import { redactQuery } from 'svc/plugins/trace/api'
import type { AuditRecord } from './api.ts'

export type RequestRecord = S3RequestRecord | HttpRequestRecord

/** What is left out: probes and public scrapes come every few seconds and say nothing about anybody. */
export function isAudited(record: HttpRequestRecord): boolean {
  if (record.presentsCredentials) return true
  if (record.path.startsWith('/svc/health/')) return false
  return !(record.path.startsWith('/svc/metrics/') && record.status < 400)
}

export function typeOf(record: RequestRecord): AuditRecord['type'] {
  return 'listener' in record && record.listener === 'console' ? 'admin' : 's3'
}

export function apiOf(record: RequestRecord): string {
  return record.operation === '' ? 'Unknown' : record.operation
}

export function identityOf(identity: Identity | undefined): AuditRecord['identity'] {
  if (identity === undefined) return { accessKey: '', user: '', type: 'anonymous' }
  return { accessKey: identity.accessKey, user: identity.displayName, type: identity.isRoot ? 'root' : 'user' }
}

export function queryOf(record: RequestRecord): Record<string, string> {
  const query = record.query ?? ''
  const parameters: Record<string, string> = {}
  if (query === '') return parameters
  for (const parameter of redactQuery(query).split('&')) {
    const equals = parameter.indexOf('=')
    const name = decode(equals < 0 ? parameter : parameter.slice(0, equals))
    // `__proto__` as a name would not become a property.
    Object.defineProperty(parameters, name, {
      value: equals < 0 ? '' : decode(parameter.slice(equals + 1)),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return parameters
}

function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    // Not UTF-8: shown as it came.
    return text
  }
}

/** The record as an object, for sinks and searches. */
export function auditRecordOf(record: RequestRecord, node: string, timeMs: number): AuditRecord {
  const { bucket, key, errorCode } = 'bucket' in record ? record : noResource
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
    identity: identityOf(record.identity),
    clientIp: record.clientAddress,
    userAgent: record.userAgent,
    method: record.method,
    path: record.path,
    query: queryOf(record),
    status: record.status,
    ...(errorCode === undefined ? {} : { errorCode }),
    latencyMs: roundedMs(record.durationMs),
    bytesReceived: record.receivedBytes,
    bytesSent: record.sentBytes,
    tags: {},
  }
}

const noResource = { bucket: '', key: '', errorCode: undefined }

/** Microseconds are enough. */
export function roundedMs(durationMs: number): number {
  return Math.round(durationMs * 1000) / 1000
}
