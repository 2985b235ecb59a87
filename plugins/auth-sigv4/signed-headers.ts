/** Checks of required headers, and of headers that the signature must cover. */
import type { IncomingHttpHeaders } from 'node:http'
import { formatAmzDate, parseAmzDate } from './date.ts'
import { authErrors } from './errors.ts'
import { echo, type PresentedCredential } from './presented-credential.ts'

/** These need not be signed: the signature covers the first two by other means, and the last has no meaning in S3. */
const neednotBeSigned = new Set(['x-amz-content-sha256', 'x-amz-date', 'x-amz-cf-id'])

/** An unsigned `x-amz-` header could have been added on the way, so the request is refused. */
export function requireSigned(headers: IncomingHttpHeaders, presented: PresentedCredential): void {
  let difference = 0
  for (const name of presented.amzNames) if (headers[name] !== undefined) difference++
  for (const name in headers) if (name.startsWith('x-amz-')) difference--
  if (difference === 0 && presented.hostSigned) return
  const unsigned = Object.keys(headers).filter(
    name => name.startsWith('x-amz-') && !presented.amzNames.includes(name) && !neednotBeSigned.has(name),
  )
  if (!presented.hostSigned) unsigned.unshift('host')
  if (unsigned.length === 0) return
  throw authErrors.AccessDenied('There were headers present in the request which were not signed', {
    extra: { HeadersNotSigned: echo(unsigned.join(', ')) },
  })
}

/** The time of signing in ISO basic format, from `x-amz-date`, otherwise from `Date`, and in milliseconds since 1970. */
export function readTime(headers: IncomingHttpHeaders): { readonly timestamp: string; readonly signedMs: number } {
  const text = headers['x-amz-date'] ?? headers.date
  if (typeof text === 'string') {
    let signedMs = parseAmzDate(text)
    if (!Number.isNaN(signedMs)) return { timestamp: text, signedMs }
    signedMs = text === headers.date ? Date.parse(text) : Number.NaN
    if (!Number.isNaN(signedMs)) return { timestamp: formatAmzDate(signedMs), signedMs }
  }
  throw authErrors.AccessDenied('AWS authentication requires a valid Date or x-amz-date header')
}
