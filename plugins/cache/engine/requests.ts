/** Interprets requests: their cache key, whether they bypass the cache, and what their directives allow. */
import type { CacheRequest, RequestHeaders } from '../api.ts'
import type { Directives } from '../policy/directives.ts'
import { type CacheKey, cacheKey } from '../policy/key.ts'
import type { CachePolicy } from '../policy/policy.ts'
import { conditions, cookieOf, fieldOf } from './headers.ts'
import { ageMs, freshForMs, type Variant } from './variant.ts'

export function keyOf({ key, headers, policy }: CacheRequest): CacheKey {
  const header = (name: string) => fieldOf(headers, name)
  const cookie = (name: string) => cookieOf(headers, name)
  return cacheKey({ ...key, header, cookie }, policy.policy.cacheKey)
}

/** The id of the request's cache key: 32 characters of one byte each. */
export function idOf(request: CacheRequest): string {
  const { kept } = request
  if (kept?.id !== undefined) return kept.id
  const { headers, cookies } = request.policy.policy.cacheKey
  const { id } = keyOf(request)
  if (kept !== undefined && headers.length === 0 && cookies.length === 0) kept.id = id
  return id
}

export const isSafe = (method: string) => ['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)

export function isBypassed({ headers, policy: { enabled, policy }, key }: CacheRequest): boolean {
  const { always, authorization, cookies, headers: names, queryParams } = policy.bypass
  if (!enabled || always || (authorization && headers.authorization !== undefined)) return true
  if (names.some(name => headers[name.toLowerCase()] !== undefined)) return true
  if (cookies.some(name => cookieOf(headers, name) !== undefined)) return true
  return queryParams.length > 0 && queryParams.some(name => new URLSearchParams(key.query).has(name))
}

/** The directives of a request. `Pragma: no-cache` counts only without `Cache-Control` (RFC 9111 section 5.4). */
export function askedOf(headers: RequestHeaders): string | undefined {
  const control = fieldOf(headers, 'cache-control')
  if (control !== undefined) return control
  return /(^|,)\s*no-cache\s*(,|$)/i.test(fieldOf(headers, 'pragma') ?? '') ? 'no-cache' : undefined
}

export function isFreshFor(variant: Variant, { maxAge, minFresh = 0, maxStale }: Directives, nowMs: number): boolean {
  if (maxAge !== undefined && ageMs(variant, nowMs) > maxAge * 1000) return false
  const freshMs = freshForMs(variant, nowMs)
  if (freshMs > minFresh * 1000) return true
  // Without a stale window no request may get an expired answer, whatever its `max-stale`.
  return maxStale !== undefined && variant.staleIfErrorMs > 0 && freshMs + maxStale * 1000 > 0
}

export function validatorsOf(variant: Variant | undefined): RequestHeaders {
  if (variant === undefined) return {}
  const { etag, lastModified } = variant
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  }
}

export const authorizationOf = ({ headers }: CacheRequest) => ({ isAuthorized: headers.authorization !== undefined })

export function withoutConditions(headers: RequestHeaders): RequestHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !conditions.includes(name)))
}

/** Whether the policy wants answers of this media type. A list has types (`image/png`) and groups of types (`text/*`). */
export function isWanted(
  headers: ReadonlyMap<string, string>,
  { contentTypes: { allow, deny } }: CachePolicy,
): boolean {
  const type = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  const isOf = (list: readonly string[]) =>
    list.some(one => one === type || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))))
  return !isOf(deny) && (allow.length === 0 || isOf(allow))
}
