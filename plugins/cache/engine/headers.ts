/** Fields of requests and answers: which of them are passed on, and their combined values. */
import type { HeaderLine, RequestHeaders } from '../api.ts'

/** Fields of one connection (RFC 9110 section 7.6.1); `Connection` names more of them. */
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]
export const conditions = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range', 'range']

const listOf = (field: string | undefined) => (field ?? '').split(',').map(name => name.trim().toLowerCase())

/** Values by lower-case name; lines of one field are joined with commas. */
export function joined(lines: readonly HeaderLine[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const [name, value] of lines) {
    const key = name.toLowerCase()
    const before = headers.get(key)
    headers.set(key, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

/** The lines that may be sent on. */
export function endToEnd(lines: readonly HeaderLine[]): readonly HeaderLine[] {
  const dropped = new Set([...hopByHop, ...listOf(joined(lines).get('connection'))])
  return lines.filter(([name]) => !dropped.has(name.toLowerCase()))
}

/** The fields of a request to the origin: without those of the connection and without `without`, and with `more`. */
export function originHeaders(
  headers: RequestHeaders,
  without: readonly string[],
  more: RequestHeaders = {},
): RequestHeaders {
  const connection = fieldOf(headers, 'connection')
  const dropped = new Set([...hopByHop, ...listOf(connection), ...without])
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name))
  return { ...Object.fromEntries(kept), ...more }
}

export function fieldOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name]
  return value === undefined || typeof value === 'string' ? value : value.join(', ')
}

export function cookieOf(headers: RequestHeaders, name: string): string | undefined {
  for (const pair of (fieldOf(headers, 'cookie') ?? '').split(';')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}
