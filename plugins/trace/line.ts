/** Trace lines from the records of S3 and Admin requests. Only built for subscribers. */
import type { HttpRequestRecord } from 'svc/plugins/http/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import type { TraceFilter, TraceLine, TraceType } from './api.ts'
import { redactQuery } from './redaction.ts'

export type RequestRecord = S3RequestRecord | HttpRequestRecord

export function lineOf(record: RequestRecord, node: string): TraceLine {
  const query = record.query === undefined || record.query === '' ? '' : `?${redactQuery(record.query)}`
  const { errorCode, tags } = record
  const { claimedAccessKey, throttled } = tags ?? {}
  const error = claimedAccessKey === undefined ? errorCode : `${errorCode} (access key ${claimedAccessKey})`
  return {
    time: new Date(record.timeMs).toISOString(),
    node,
    type: typeOf(record),
    operation: operationOf(record),
    status: record.status,
    durationMs: record.durationMs,
    method: record.method,
    path: record.path + query,
    bytesReceived: record.receivedBytes,
    bytesSent: record.sentBytes,
    user: record.identity?.accessKey ?? '',
    client: record.clientAddress,
    requestId: record.requestId,
    ...(throttled === undefined ? {} : { throttled }),
    ...(error === undefined ? {} : { error }),
  }
}

function typeOf(record: RequestRecord): TraceType {
  if ('type' in record && record.type !== undefined) return record.type
  return 'listener' in record && record.listener === 'console' ? 'admin' : 's3'
}

function operationOf(record: RequestRecord): string {
  return record.operation === '' ? 'Unknown' : record.operation
}

/** Filters by the record itself, so that no line is built that no subscriber wants. */
export function matches(record: RequestRecord, filter: TraceFilter): boolean {
  const { status } = record
  if (filter.errors === true && status < 400) return false
  if (filter.minDurationMs !== undefined && record.durationMs < filter.minDurationMs) return false
  if (filter.statuses !== undefined && !filter.statuses.some(wanted => matchesStatus(wanted, status))) return false
  if (filter.types !== undefined && !filter.types.includes(typeOf(record))) return false
  if (filter.bucket !== undefined && (!('bucket' in record) || record.bucket !== filter.bucket)) return false
  return filter.operation === undefined || matchesName(filter.operation, operationOf(record))
}

function matchesStatus(wanted: string, status: number): boolean {
  return wanted === String(status) || wanted.toLowerCase() === `${Math.floor(status / 100)}xx`
}

function matchesName(wanted: string, name: string): boolean {
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}
