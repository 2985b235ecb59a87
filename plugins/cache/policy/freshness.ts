/** How long an answer is fresh, how old it is, and whether it may be stored. Source: RFC 9111 sections 3, 4.2 and 5.2; RFC 5861; RFC 9213. */
import {
  type Directives,
  parseCacheControl,
  parseSurrogateControl,
  parseTargetedCacheControl,
  secondsMax,
} from './directives.ts'
import { parseHttpDate } from './http-date.ts'
import type { CachePolicy } from './policy.ts'

/** Status and fields of an origin's answer. Names in lower case; several lines of a field are joined with commas. */
export interface StoredHead {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
}

export interface Lifetime {
  readonly freshMs: number
  /** How long the answer may be served after it has expired: while it is read again, and when reading it fails. */
  readonly staleWhileRevalidateMs: number
  readonly staleIfErrorMs: number
  /** True: the lifetime is from the answer itself, not from the policy. */
  readonly isExplicit: boolean
  readonly directives: Directives
}

/** Statuses that may be stored without an explicit lifetime (404 and 410 by `negativeCaching`). */
const storableStatuses: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 410])
const negativeStatuses: ReadonlySet<number> = new Set([404, 410])
/** Statuses that we understand, for `must-understand` and explicit lifetimes. */
const understood: ReadonlySet<number> = new Set([
  ...storableStatuses,
  302,
  303,
  307,
  400,
  401,
  403,
  405,
  414,
  500,
  501,
  502,
  503,
  504,
])
const neverStale = ['must-revalidate', 'proxy-revalidate', 'no-cache', 's-maxage'] as const

export function lifetimeOf({ status, headers }: StoredHead, policy: CachePolicy, receivedMs: number): Lifetime {
  const targeted =
    parseTargetedCacheControl(headers.get('cdn-cache-control')) ??
    parseSurrogateControl(headers.get('surrogate-control'))
  const directives = targeted ?? parseCacheControl(headers.get('cache-control'))
  const explicitMs = policy.respectObjectCacheControl
    ? (secondsMs(directives.sMaxAge ?? directives.maxAge) ??
      (targeted === undefined ? expiresMs(headers, receivedMs) : undefined))
    : undefined
  const isExplicit = explicitMs !== undefined
  const clamp = (ms: number) => Math.min(Math.max(ms, policy.ttl.min), policy.ttl.max)
  const isNegative = negativeStatuses.has(status) && !isExplicit
  const asked = explicitMs ?? policy.ttl.default
  const freshMs = isNegative
    ? policy.negativeCaching
    : clamp(directives.names.has('no-cache') && policy.respectObjectCacheControl ? 0 : asked)
  const mayBeStale = !neverStale.some(name => directives.names.has(name))
  const stale = (seconds: number | undefined, ms: number) => (mayBeStale ? (secondsMs(seconds) ?? ms) : 0)
  return {
    freshMs,
    staleWhileRevalidateMs: stale(directives.staleWhileRevalidate, policy.staleWhileRevalidate),
    staleIfErrorMs: stale(directives.staleIfError, policy.staleIfError),
    isExplicit,
    directives,
  }
}

/** Whether a shared cache may store an answer. `isAuthorized`: the request had `Authorization` (RFC 9111 section 3.5). */
export function isStorable(
  head: StoredHead,
  lifetime: Lifetime,
  { isAuthorized }: { readonly isAuthorized: boolean },
): boolean {
  const { status, headers } = head
  const { names } = lifetime.directives
  // `Cache-Control` counts here even if a field for shared caches sets the lifetime: `no-store` and `private` protect privacy.
  const own = parseCacheControl(headers.get('cache-control')).names
  const isUnderstood = names.has('must-understand') && understood.has(status)
  if ((names.has('no-store') || own.has('no-store')) && !isUnderstood) return false
  if (names.has('private') || own.has('private')) return false
  if (
    headers.has('set-cookie') ||
    headers
      .get('vary')
      ?.split(',')
      .some(name => name.trim() === '*') === true
  )
    return false
  if (status === 206 || status === 304 || status < 200) return false
  if (isAuthorized && !['public', 'must-revalidate', 's-maxage'].some(name => names.has(name))) return false
  if (names.has('must-understand') && !isUnderstood) return false
  if (!lifetime.isExplicit && !storableStatuses.has(status)) return false
  const hasValidator = headers.has('etag') || headers.has('last-modified')
  const staleMs = Math.max(lifetime.staleWhileRevalidateMs, lifetime.staleIfErrorMs)
  if (negativeStatuses.has(status) && !lifetime.isExplicit) return lifetime.freshMs > 0
  return lifetime.freshMs > 0 || hasValidator || staleMs > 0
}

/** The age of an answer at `receivedMs`, by its fields `Date` and `Age` (RFC 9111 section 4.2.3). */
export function initialAgeMs(headers: ReadonlyMap<string, string>, requestedMs: number, receivedMs: number): number {
  const dateMs = dateOf(headers, receivedMs)
  const apparentMs = dateMs === undefined ? 0 : Math.max(0, receivedMs - dateMs)
  return Math.max(apparentMs, ageMs(headers.get('age')) + (receivedMs - requestedMs))
}

/** An `Age` that is not one number means very old: several caches disagreed about it, or it was written by hand. */
function ageMs(field: string | undefined): number {
  if (field === undefined) return 0
  return (/^\d+$/.test(field.trim()) ? Math.min(Number(field), secondsMax) : secondsMax) * 1000
}

function dateOf(headers: ReadonlyMap<string, string>, receivedMs: number): number | undefined {
  const date = headers.get('date')
  return date === undefined ? undefined : parseHttpDate(date, receivedMs)
}

/** Lifetime by `Expires`: 0 if it is not a date, undefined without the field. */
function expiresMs(headers: ReadonlyMap<string, string>, receivedMs: number): number | undefined {
  const field = headers.get('expires')
  if (field === undefined) return undefined
  const atMs = parseHttpDate(field, receivedMs)
  if (atMs === undefined) return 0
  return Math.max(0, atMs - (dateOf(headers, receivedMs) ?? receivedMs))
}

const secondsMs = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1000)
