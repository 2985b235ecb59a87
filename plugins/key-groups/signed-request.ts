/** A request as its signature sees it: the five parameters, and the URL without them. */
import type { SignatureRefusal, SignedRequest } from './api.ts'

const names = ['Expires', 'Policy', 'Signature', 'Key-Pair-Id', 'Hash-Algorithm'] as const
export type ParameterName = (typeof names)[number]
/** If the query has one of these, cookies do not count. */
const carriers = new Set<string>(['Expires', 'Policy', 'Signature', 'Key-Pair-Id'])
const known = new Set<string>(names)
export const cookiePrefix = 'Cdn-'

export interface Carried {
  readonly carrier: 'url' | 'cookies'
  /** Values as received; those from the query are still percent-encoded. */
  readonly values: ReadonlyMap<string, string>
  /** The raw query without the five parameters: every other pair byte for byte and in its place. */
  readonly query: string
}

/** Steps 1 to 4: extracts the signature to verify. Decodes nothing. */
export function readCarried({ query, cookie }: Pick<SignedRequest, 'query' | 'cookie'>): Carried | SignatureRefusal {
  const ofQuery = new Map<string, string>()
  let rest: string[] | undefined
  let isDoubled = false
  // A query without any of these parameters is passed on unchanged.
  if (/(?:^|&)(?:Expires|Policy|Signature|Key-Pair-Id|Hash-Algorithm)(?:[=&]|$)/.test(query)) {
    rest = []
    for (const pair of query.split('&')) {
      const equals = pair.indexOf('=')
      const name = equals < 0 ? pair : pair.slice(0, equals)
      if (!known.has(name)) rest.push(pair)
      else if (ofQuery.has(name)) isDoubled = true
      else ofQuery.set(name, equals < 0 ? '' : pair.slice(equals + 1))
    }
  }
  const isInUrl = [...ofQuery.keys()].some(name => carriers.has(name))
  const values = isInUrl ? ofQuery : readCookies(cookie)
  if (values.size === 0) return 'missing'
  if (isInUrl && isDoubled) return 'duplicate_parameter'
  if (!values.has('Key-Pair-Id') || !values.has('Signature')) return 'missing'
  if (values.has('Policy') === values.has('Expires')) return values.has('Policy') ? 'ambiguous' : 'missing'
  return { carrier: isInUrl ? 'url' : 'cookies', values, query: rest === undefined ? query : rest.join('&') }
}

/** The first of equal names, as the most specific path comes first (RFC 6265 5.4). */
function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  if (header === undefined || !header.includes(cookiePrefix)) return found
  for (const part of header.split(';')) {
    const pair = part.trim()
    if (!pair.startsWith(cookiePrefix)) continue
    const equals = pair.indexOf('=')
    const name = pair.slice(cookiePrefix.length, equals < 0 ? undefined : equals)
    if (known.has(name) && !found.has(name)) found.set(name, equals < 0 ? '' : pair.slice(equals + 1))
  }
  return found
}

/** Undefined where it is no percent-encoded UTF-8. A plus is a plus. */
export function parameterOf({ carrier, values }: Carried, name: ParameterName): string | undefined {
  const raw = values.get(name)
  if (raw === undefined || carrier === 'cookies' || !raw.includes('%')) return raw
  try {
    return decodeURIComponent(raw)
  } catch {
    return undefined
  }
}

export type Scheme = 'http' | 'https'

/** In the sections that patterns know. Path and query as received, a character for each byte. */
export interface SectionedUrl {
  readonly scheme: Scheme
  /** In lower case, without the default port. */
  readonly host: string
  readonly path: string
  /** Undefined: there is no query, or nothing is left of it. */
  readonly query: string | undefined
}

/**
 * The URLs that a signature may be for, the request's own first: a signature for `http` is valid on `https`, and the other way round
 * only where TLS ends at a proxy.
 */
export function urlsOf({ secure, host, path, holdsFromProxy }: SignedRequest, rest: string): readonly SectionedUrl[] {
  const own: Scheme = secure ? 'https' : 'http'
  const other: Scheme = secure ? 'http' : 'https'
  const plainHost = withoutPort(host.toLowerCase(), own)
  const url = { host: plainHost, path, query: rest === '' ? undefined : rest }
  const urls: SectionedUrl[] = [{ ...url, scheme: own }]
  if (secure || holdsFromProxy) urls.push({ ...url, scheme: other, host: withoutPort(plainHost, other) })
  return urls
}

export function textOf({ scheme, host, path, query }: SectionedUrl): string {
  return `${scheme}://${host}${path}${query === undefined ? '' : `?${query}`}`
}

function withoutPort(host: string, scheme: Scheme): string {
  const port = scheme === 'https' ? ':443' : ':80'
  return host.endsWith(port) ? host.slice(0, -port.length) : host
}
