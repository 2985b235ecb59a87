/**
 * Audit records as lines of the server log, built by hand: every request writes one, and serializing an object costs several times as
 * much. A test compares each line with `auditRecordOf`.
 */
import { symbols } from 'pino'
import type { Logger } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { AuditRecord } from './api.ts'
import { apiOf, identityOf, queryOf, type RequestRecord, roundedMs, typeOf, versionOf } from './record.ts'

/** The line, with its newline. */
export type LineFormat = (record: RequestRecord, timeMs: number) => string

export function createLineFormat(node: string): LineFormat {
  // One each, because each caches its last second, and those of slow requests differ.
  const formatTime = createTimeFormat()
  const formatEventTime = createTimeFormat()
  const nodeJson = JSON.stringify(node)
  const identityJson = createIdentityCache()
  const agentJson = createLastValueCache()
  return (record, timeMs) => {
    const { bucket, key, errorCode } = 'bucket' in record ? record : noResource
    let line =
      `{"level":"info","time":"${formatTime(timeMs)}","plugin":"audit","component":"audit","version":"1",` +
      `"event_time":"${formatEventTime(record.timeMs)}","node":${nodeJson},"requestId":"${record.requestId}",` +
      `"type":"${typeOf(record)}","api":"${apiOf(record)}"`
    if (bucket !== '') line += `,"bucket":${JSON.stringify(bucket)}`
    if (key !== '') line += `,"object":${JSON.stringify(key)}`
    const query = record.query === undefined || record.query === '' ? undefined : queryOf(record)
    const versionId = query && versionOf(record, query)
    if (versionId !== undefined) line += `,"versionId":${JSON.stringify(versionId)}`
    line +=
      `,"identity":${identityJson(record.identity)},"clientIp":"${record.clientAddress}",` +
      `"userAgent":${agentJson(record.userAgent)},"method":${JSON.stringify(record.method)},` +
      `"path":${JSON.stringify(record.path)}`
    line += query === undefined ? ',"query":{}' : `,"query":${JSON.stringify(query)}`
    line += `,"status":${record.status}`
    if (errorCode !== undefined) line += `,"errorCode":${JSON.stringify(errorCode)}`
    return (
      `${line},"latencyMs":${roundedMs(record.durationMs)},"bytesReceived":${record.receivedBytes},` +
      `"bytesSent":${record.sentBytes},"tags":${record.tags === undefined ? '{}' : JSON.stringify(record.tags)},"msg":"audit"}\n`
    )
  }
}

/** A read of the Admin API that succeeded: a console makes several per second, and they change nothing. */
export function isPlainRead(record: RequestRecord): boolean {
  return typeOf(record) === 'admin' && record.status < 400 && (record.method === 'GET' || record.method === 'HEAD')
}

/** For the log only: user, operation and address. The ring and the targets get the complete record. */
export function createShortLineFormat(): LineFormat {
  const formatTime = createTimeFormat()
  const identityJson = createIdentityCache()
  return (record, timeMs) => {
    const { bucket, key, query } = record
    let details = ''
    if (bucket !== '') details += `"bucket":${JSON.stringify(bucket)},`
    if (key !== '') details += `"object":${JSON.stringify(key)},`
    if (query) details += `"query":${JSON.stringify(queryOf(record))},`
    return (
      `{"level":"info","time":"${formatTime(timeMs)}","plugin":"audit","component":"audit","requestId":"${record.requestId}",` +
      `"type":"${typeOf(record)}","api":"${apiOf(record)}","identity":${identityJson(record.identity)},` +
      `"clientIp":"${record.clientAddress}","path":${JSON.stringify(record.path)},${details}"status":${record.status},` +
      `"latencyMs":${roundedMs(record.durationMs)},"msg":"audit"}\n`
    )
  }
}

/** The record in a line. */
export function recordOfLine(line: string): AuditRecord {
  const { level: _level, plugin: _plugin, component: _component, msg: _msg, ...record } = JSON.parse(line)
  return record
}

/** The record in a line as JSON, without the fields of the log. Cut out of the line, because parsing costs several times as much. */
export function documentOfLine(line: string): string {
  return `{${line.slice(timeStart, timeEnd)}${line.slice(recordStart, -lineEnd.length)}}`
}

/** A line is `{"level":"info","time":"2026-01-01T12:00:00.000Z"`, the fields of the process, the rest of the record, and `lineEnd`. */
const timeStart = '{"level":"info",'.length
const timeEnd = timeStart + '"time":"2026-01-01T12:00:00.000Z"'.length
const recordStart = timeEnd + ',"plugin":"audit","component":"audit"'.length
const lineEnd = ',"msg":"audit"}\n'

/** Writes lines to the stream of the logger if its level includes `info`. */
export function createLineWriter(log: Logger): (line: string) => void {
  const { [symbols.streamSym]: stream } = log as unknown as Record<symbol, LineStream>
  return line => {
    if (log.levelVal <= infoLevel) stream.write(line)
  }
}

interface LineStream {
  write(line: string): void
}

const infoLevel = 30

const noResource = { bucket: '', key: '', errorCode: undefined }

/** ISO 8601 with milliseconds; formats the second only when it changes. */
function createTimeFormat(): (timeMs: number) => string {
  let second = Number.NaN
  let prefix = ''
  return timeMs => {
    const whole = Math.floor(timeMs)
    const rest = whole % 1000
    if (whole - rest !== second) {
      second = whole - rest
      prefix = new Date(second).toISOString().slice(0, 20)
    }
    return `${prefix}${rest < 10 ? '00' : rest < 100 ? '0' : ''}${rest}Z`
  }
}

/** There are few identities, and they live long. */
function createIdentityCache(): (identity: Identity | undefined) => string {
  const known = new WeakMap<Identity, string>()
  const anonymous = JSON.stringify(identityOf(undefined))
  return identity => {
    if (identity === undefined) return anonymous
    let json = known.get(identity)
    if (json === undefined) {
      json = JSON.stringify(identityOf(identity))
      known.set(identity, json)
    }
    return json
  }
}

/** A client repeats its user agent with every request. */
function createLastValueCache(): (text: string) => string {
  let last = ''
  let json = '""'
  return text => {
    if (text !== last) {
      last = text
      json = JSON.stringify(text)
    }
    return json
  }
}
