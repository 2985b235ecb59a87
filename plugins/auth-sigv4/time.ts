/**
 * Checks whether a signature is valid at the current time. Source: AWS S3 error responses, and "Authenticating requests: using query
 * parameters".
 */
import { formatAmzDate } from './date.ts'
import { authErrors } from './errors.ts'

export const skewMsMax = 15 * 60 * 1000
export const expiresSecondsMax = 604_800

export const isoSeconds = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19)}Z`

export function checkSkew(signedMs: number, nowMs: number): void {
  if (Math.abs(nowMs - signedMs) <= skewMsMax) return
  throw authErrors.RequestTimeTooSkewed(undefined, {
    extra: {
      RequestTime: formatAmzDate(signedMs),
      ServerTime: isoSeconds(nowMs),
      MaxAllowedSkewMilliseconds: String(skewMsMax),
    },
  })
}

/** A presigned request is valid from its date for `expiresSeconds`, with a tolerance for clocks. */
export function checkExpiry(signedMs: number, expiresSeconds: number, nowMs: number): void {
  if (signedMs - nowMs > skewMsMax) {
    throw authErrors.AccessDenied('Request is not yet valid', {
      extra: { 'X-Amz-Date': formatAmzDate(signedMs), ServerTime: isoSeconds(nowMs) },
    })
  }
  const endMs = signedMs + expiresSeconds * 1000
  if (nowMs <= endMs) return
  throw authErrors.AccessDenied('Request has expired', {
    extra: { 'X-Amz-Expires': String(expiresSeconds), Expires: isoSeconds(endMs), ServerTime: isoSeconds(nowMs) },
  })
}
