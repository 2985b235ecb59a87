/** A line for each request, to the log of the server or into a bucket: JSON, or as Apache writes it. */
import type { Logger } from 'svc/kernel'
import { redactQuery, redactUrl } from 'svc/plugins/trace/api'
import type { Visit } from './api.ts'

export interface AccessRecord {
  readonly visit: Visit
  readonly status: number
  readonly timeMs: number
  readonly durationMs: number
}

export type AccessLog = (record: AccessRecord) => void

export type AccessLogFormat = 'json' | 'combined'

/** Into the log of the server. */
export function createAccessLog(log: Logger, format: AccessLogFormat): AccessLog {
  if (format === 'combined') return record => log.info({ component: 'access', line: combinedLine(record) }, 'access')
  return record => log.info({ component: 'access', access: accessFields(record) }, 'access')
}

/** Elsewhere, as lines. `write`: without a newline, with the time of the request. */
export function createLineLog(format: AccessLogFormat, write: (line: string, timeMs: number) => void): AccessLog {
  const lineOf =
    format === 'combined' ? combinedLine : (record: AccessRecord): string => JSON.stringify(accessFields(record))
  return record => write(lineOf(record), record.timeMs)
}

export function accessFields({ visit, status, timeMs, durationMs }: AccessRecord) {
  const { exchange, distribution } = visit
  const { request } = exchange
  const { path, query } = targetOf(visit)
  return {
    time: new Date(timeMs).toISOString(),
    distribution: distribution.id,
    host: visit.host,
    alias: visit.alias,
    requestId: exchange.requestId,
    client: exchange.clientAddress,
    method: request.method ?? '',
    path,
    query,
    status,
    bytes: visit.sentBytes,
    durationMs: Math.round(durationMs * 1000) / 1000,
    cache: visit.cache,
    behavior: visit.behavior,
    keyId: visit.tags.keyId ?? '',
    referer: redactUrl(request.headers.referer ?? ''),
    userAgent: request.headers['user-agent'] ?? '',
    protocol: `HTTP/${request.httpVersion}`,
  }
}

/** Apache's `combined` format; values of the client cannot end a field or a line. */
export function combinedLine(record: AccessRecord): string {
  const { visit, status, timeMs } = record
  const { exchange } = visit
  const { request } = exchange
  const { path, query } = targetOf(visit)
  const line = `${request.method} ${path}${query === '' ? '' : `?${query}`} HTTP/${request.httpVersion}`
  const fields = [line, redactUrl(request.headers.referer ?? '') || '-', request.headers['user-agent'] ?? '-'].map(
    quote,
  )
  return `${exchange.clientAddress} - - [${apacheTime(timeMs)}] ${fields[0]} ${status} ${visit.sentBytes} ${fields[1]} ${fields[2]}`
}

function targetOf({ exchange }: Visit): { path: string; query: string } {
  const url = exchange.request.url ?? ''
  const mark = url.indexOf('?')
  return mark < 0 ? { path: url, query: '' } : { path: url.slice(0, mark), query: redactQuery(url.slice(mark + 1)) }
}

function quote(text: string): string {
  const escaped = text.replaceAll(/[^ !#-[\]-~]/g, character => {
    const code = character.charCodeAt(0)
    return code < 256 ? `\\x${code.toString(16).toUpperCase().padStart(2, '0')}` : '?'
  })
  return `"${escaped}"`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function apacheTime(timeMs: number): string {
  const [date, time] = new Date(timeMs).toISOString().split('T')
  const [year, month, day] = date.split('-')
  return `${day}/${months[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`
}
