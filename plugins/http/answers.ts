/**
 * Answers of HTTP itself, before a protocol gets the request: malformed heads, oversize headers, slow clients, a stopping server. On the S3
 * listener they are S3's XML errors, elsewhere problem documents (RFC 9457).
 */
import { STATUS_CODES } from 'node:http'
import type { ListenerName } from './api.ts'
import { guardHeadersOf } from './guard-headers.ts'
import { problemDocument, problemMediaType } from './problem.ts'

export interface Refusal {
  readonly status: number
  /** Code in S3 answers (AWS's name). */
  readonly s3Code: string
  /** Code in problem documents. */
  readonly problemCode: string
  readonly message: string
}

export const refusals = {
  malformed: refusal(400, 'BadRequest', 'invalid_argument', 'The request could not be understood.'),
  noHost: refusal(400, 'BadRequest', 'invalid_argument', 'The request has no Host header, or more than one.'),
  headersTooLarge: refusal(
    400,
    'RequestHeaderSectionTooLarge',
    'invalid_argument',
    'The request line and headers exceed the maximum allowed size.',
  ),
  timeout: refusal(
    400,
    'RequestTimeout',
    'request_timeout',
    'Your socket connection to the server was not read from or written to within the timeout period.',
  ),
  starting: refusal(503, 'ServiceUnavailable', 'service_unavailable', 'The server is starting. Try again.'),
  draining: refusal(503, 'ServiceUnavailable', 'service_unavailable', 'The server is stopping. Try again.'),
  defect: refusal(
    500,
    'InternalError',
    'internal_error',
    'The server failed. The request id finds the reason in its log.',
  ),
  misdirected: refusal(
    421,
    'MisdirectedRequest',
    'misdirected_request',
    'This server has nothing at the host that the request names.',
  ),
  notFound: refusal(404, 'NoSuchKey', 'not_found', 'There is nothing at this path.'),
} as const

function refusal(status: number, s3Code: string, problemCode: string, message: string): Refusal {
  return { status, s3Code, problemCode, message }
}

/** The console has HTTP's own statuses for errors to which AWS gives others. */
function statusFor(listener: ListenerName, refusal: Refusal): number {
  if (listener === 's3') return refusal.status
  if (refusal === refusals.headersTooLarge) return 431
  return refusal === refusals.timeout ? 408 : refusal.status
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function answerFor(listener: ListenerName, refusal: Refusal, requestId: string): Answer {
  const status = statusFor(listener, refusal)
  if (listener === 's3') {
    const body =
      `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${refusal.s3Code}</Code>` +
      `<Message>${refusal.message}</Message><RequestId>${requestId}</RequestId></Error>`
    return { status, headers: { 'Content-Type': 'application/xml' }, body }
  }
  return {
    status,
    headers: { 'Content-Type': problemMediaType, ...guardHeadersOf(listener) },
    body: problemDocument({ status, code: refusal.problemCode, detail: refusal.message, requestId }),
  }
}

/** The same as bytes, for connections without a response object. The connection is closed after it. */
export function answerBytes(listener: ListenerName, refusal: Refusal, requestId: string, nowMs: number): string {
  const answer = answerFor(listener, refusal, requestId)
  const headers = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return (
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n` +
    `Date: ${new Date(nowMs).toUTCString()}\r\nServer: svc\r\nx-amz-request-id: ${requestId}\r\n` +
    `${headers.join('')}Content-Length: ${Buffer.byteLength(answer.body)}\r\n` +
    `Connection: close\r\n\r\n${answer.body}`
  )
}
