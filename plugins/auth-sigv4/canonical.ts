/**
 * The canonical request and the string to sign. Source: AWS "Create a signed AWS API request" and, for S3,
 * "Authenticating requests: using the Authorization header": the path is not normalized and encoded once.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export const algorithmName = 'AWS4-HMAC-SHA256'
export const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
export const unsignedPayload = 'UNSIGNED-PAYLOAD'

/** One parameter of a query, percent-encoded. */
export interface QueryParameter {
  readonly name: string
  /** `name=value`; always has `=`. */
  readonly pair: string
  /** Start of the value in `pair`. */
  readonly valueStart: number
}

/** The parameters of a raw query in their order; empty ones (`&&`) are omitted. */
export function parseQuery(rawQuery: string): QueryParameter[] {
  const parameters: QueryParameter[] = []
  let start = 0
  while (start < rawQuery.length) {
    let end = rawQuery.indexOf('&', start)
    if (end < 0) end = rawQuery.length
    if (end > start) {
      const text = rawQuery.slice(start, end)
      const equals = text.indexOf('=')
      parameters.push(
        equals < 0
          ? { name: text, pair: `${text}=`, valueStart: text.length + 1 }
          : { name: text.slice(0, equals), pair: text, valueStart: equals + 1 },
      )
    }
    start = end + 1
  }
  return parameters
}

/** Sorted by encoded name, then by encoded value. `without` is omitted: the signature itself. */
export function canonicalQuery(parameters: readonly QueryParameter[], without?: QueryParameter): string {
  const sorted = inOrder(parameters) ? parameters : [...parameters].sort(compareParameters)
  let query = ''
  for (const parameter of sorted) {
    if (parameter === without) continue
    query = query === '' ? parameter.pair : `${query}&${parameter.pair}`
  }
  return query
}

function inOrder(parameters: readonly QueryParameter[]): boolean {
  for (let i = 1; i < parameters.length; i++) {
    if (compareParameters(parameters[i - 1]!, parameters[i]!) > 0) return false
  }
  return true
}

/** `=` sorts after `-` and digits, so a comparison of the pairs would put `a-b` before `a`. */
function compareParameters(a: QueryParameter, b: QueryParameter): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.pair === b.pair ? 0 : a.pair < b.pair ? -1 : 1
}

/** The value of a header for the canonical request; empty if the header is missing. */
export function headerText(headers: IncomingHttpHeaders, name: string): string {
  // Names come from the client: `constructor` must not find an inherited property.
  const value: unknown = headers[name]
  if (typeof value === 'string') return foldSpaces(value)
  return Array.isArray(value) ? foldSpaces(value.join(',')) : ''
}

/** Replaces runs of blanks by one blank; removes blanks at the ends. */
export function foldSpaces(value: string): string {
  if (value === '') return value
  const first = value.charCodeAt(0)
  const last = value.charCodeAt(value.length - 1)
  if (first !== 32 && last !== 32 && first !== 9 && last !== 9 && !value.includes('  ') && !value.includes('\t')) {
    return value
  }
  return value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')
}

/** Removes blanks at the ends. `trim` would also remove the byte 0xA0, which occurs at the end of characters in UTF-8. */
export function trimBlanks(value: string): string {
  let start = 0
  let end = value.length
  while (start < end && isBlank(value.charCodeAt(start))) start++
  while (end > start && isBlank(value.charCodeAt(end - 1))) end--
  return value.slice(start, end)
}

const isBlank = (code: number): boolean => code === 32 || code === 9

export interface CanonicalParts {
  readonly method: string
  readonly path: string
  readonly query: string
  /** `name:value\n` of each signed header. */
  readonly headerBlock: string
  /** `host;x-amz-date` */
  readonly signedHeaders: string
  /** The digest, or the word in its place. */
  readonly payload: string
}

export function canonicalRequest(parts: CanonicalParts): string {
  return `${parts.method}\n${parts.path}\n${parts.query}\n${parts.headerBlock}\n${parts.signedHeaders}\n${parts.payload}`
}

/** `timestamp` in ISO basic format; `scope` is `date/region/service/aws4_request`; `digest` that of the canonical request. */
export function stringToSign(timestamp: string, scope: string, digest: string): string {
  return `${algorithmName}\n${timestamp}\n${scope}\n${digest}`
}

/** SHA-256 in hexadecimal of bytes, or of the UTF-8 bytes of a text. */
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex')
