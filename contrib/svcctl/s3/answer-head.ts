/**
 * The head of an answer in HTTP/1.1 (RFC 9112, sections 4 and 5), parsed strictly: an ambiguous head is
 * refused, not repaired.
 */
import type { AnswerHeaders } from './messages.ts'

export interface AnswerHead {
  readonly status: number
  readonly headers: AnswerHeaders
  /** The length of the body. Undefined: not stated, or the body is chunked. */
  readonly bodyBytes: number | undefined
  /** The body comes in chunks, and is coded in no other way. */
  readonly isChunked: boolean
  /** Another request may follow on the same connection. */
  readonly isKept: boolean
}

const headerCountMax = 256
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*)$/
/** Exact as a number. */
const lengthPattern = /^\d{1,15}$/

const refused = (reason: string) =>
  Object.assign(new Error(`this is not an answer of HTTP/1.1: ${reason}`), { code: 'HTTP_BAD_HEAD' })

/** `text` is Latin-1, up to the empty line and without it. Throws an error with the code `HTTP_BAD_HEAD`. */
export function parseAnswerHead(text: string): AnswerHead {
  const lines = text.split('\r\n')
  if (lines.length > headerCountMax) throw refused('it has too many headers')
  const first = statusLine.exec(lines[0]!)
  if (first === null) throw refused('its first line is none')
  const status = Number(first[2])
  // Without a prototype, because a header may have the name of a property of one.
  const headers: Record<string, string> = Object.create(null)
  for (let index = 1; index < lines.length; index++) {
    const line = headerLine.exec(lines[index]!)
    if (line === null) throw refused('a header is malformed')
    const name = line[1]!.toLowerCase()
    const value = line[2]!.trimEnd()
    const before = headers[name]
    if (before !== undefined && name === 'content-length') throw refused('it has two lengths')
    headers[name] = before === undefined ? value : `${before}, ${value}`
  }
  const length = headers['content-length']
  if (length !== undefined && !lengthPattern.test(length)) throw refused('its length is no number')
  const isCoded = headers['transfer-encoding'] !== undefined
  if (isCoded && length !== undefined) throw refused('it has both a length and a transfer encoding')
  const hasNone = status < 200 || status === 204 || status === 304
  return {
    status,
    headers,
    bodyBytes: hasNone ? 0 : length === undefined ? undefined : Number(length),
    isChunked: !hasNone && first[1] === '1' && headers['transfer-encoding']?.toLowerCase() === 'chunked',
    isKept: first[1] === '1' && !/\bclose\b/i.test(headers.connection ?? ''),
  }
}
