/**
 * The order of the steps that decide who serves a host:
 *
 * | Step | Match | S3 listener | web listeners |
 * |---|---|---|---|
 * | a | exact alias | where distributions answer there | yes |
 * | b | longest wildcard alias | the same | yes |
 * | c | `<bucket>.<SVC_DOMAIN>` | S3 | 421 |
 * | d | hosts of SVC_SERVER_URL and SVC_BROWSER_REDIRECT_URL | S3 | 421 |
 * | e | any other | S3, path style, or 421 | 421 |
 *
 * Requests and `resolveRoute` go by the same function.
 */
import type { ListenerName } from 'svc/plugins/http/api'
import type { HostMatch, HostTable } from './host-table.ts'
import { normalizeHost } from './hosts.ts'
import { bucketOfHost, type ServerNames } from './names.ts'

export interface RoutingRules {
  readonly names: ServerNames
  /** On the S3 listener distributions answer, too. */
  readonly onS3: boolean
  /** Hosts without a distribution are refused on the S3 listener. */
  readonly refusesUnknown: boolean
  readonly isOff: boolean
}

export type Route<T> =
  | { readonly step: 'a' | 'b'; readonly match: 'exact' | 'wildcard'; readonly found: HostMatch<T> }
  | { readonly step: 'c'; readonly match: 'bucket-domain'; readonly bucket: string }
  | { readonly step: 'd'; readonly match: 'main' }
  | { readonly step: 'e'; readonly match: 'path-style' | 'misdirected' }

/** `host` may have a port. */
export function routeHost<T>(
  given: string,
  listener: ListenerName,
  hosts: HostTable<T>,
  rules: RoutingRules,
): Route<T> {
  const host = normalizeHost(given)
  const { names, onS3, refusesUnknown, isOff } = rules
  const isWeb = listener === 'web' || listener === 'web-tls'
  if (!isOff && (isWeb || (listener === 's3' && onS3))) {
    const found = hosts.find(host)
    if (found !== undefined) {
      return found.alias === host ? { step: 'a', match: 'exact', found } : { step: 'b', match: 'wildcard', found }
    }
  }
  if (isWeb) return { step: 'e', match: 'misdirected' }
  const bucket = bucketOfHost(host, names)
  if (bucket !== undefined) return { step: 'c', match: 'bucket-domain', bucket }
  if (names.main.has(host) || names.domains.includes(host)) return { step: 'd', match: 'main' }
  return { step: 'e', match: refusesUnknown && listener === 's3' ? 'misdirected' : 'path-style' }
}
