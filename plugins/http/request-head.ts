/** Checks of heads, after the parser of Node.js accepted or refused them. */
import type { IncomingMessage } from 'node:http'
import { type Refusal, refusals } from './answers.ts'

/** The answer for an error of Node's parser. */
export function refusalFor(error: NodeJS.ErrnoException): Refusal {
  if (error.code === 'HPE_HEADER_OVERFLOW') return refusals.headersTooLarge
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusals.timeout
  return refusals.malformed
}

/** The problem of a head that the parser accepted; rewrites absolute targets. */
export function flawOf(request: IncomingMessage): Refusal | undefined {
  const { host } = request.headers
  // Two headers, joined by Node.js: the proxy in front may have used the other one.
  if (host?.includes(',')) return refusals.noHost
  if ((request.url as string).charCodeAt(0) !== 47 /* / */ && !toOriginForm(request)) return refusals.malformed
  if (request.httpVersionMajor === 2) return hasTwoHosts(request) ? refusals.malformed : undefined
  if (hasOddFrames(request)) return refusals.malformed
  // An absolute target has set the host by now.
  return request.headers.host === undefined && request.httpVersionMinor > 0 ? refusals.noHost : undefined
}

/**
 * RFC 9112 sections 6.1 and 7: chunks in HTTP/1.0, which a proxy in front may have framed in another way, and codings other than chunks, whose
 * bytes would be taken for the content.
 */
function hasOddFrames({ headers, httpVersionMinor }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding !== undefined && (httpVersionMinor === 0 || !/^chunked$/i.test(coding))
}

/** RFC 9113 section 8.3.1: a `host` that differs from `:authority` makes the request malformed. */
function hasTwoHosts({ headers }: IncomingMessage): boolean {
  const authority = headers[':authority'] as string | undefined
  return authority !== undefined && headers.host !== undefined && headers.host.toLowerCase() !== authority.toLowerCase()
}

/** Rewrites `GET http://host/path` (RFC 9112 section 3.2.2); false if the target has another form and is not `*`. */
function toOriginForm(request: IncomingMessage): boolean {
  const match = /^https?:\/\/([^/?#]+)(.*)$/i.exec(request.url as string)
  if (match === null) return request.url === '*'
  request.headers.host = match[1]
  request.url = match[2].startsWith('/') ? match[2] : `/${match[2]}`
  return true
}

/** Whether the parser takes what follows for another protocol. */
export function asksForUpgrade({ headers, httpVersionMajor }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && httpVersionMajor === 1 && /upgrade/i.test(headers.connection ?? '')
}
