/**
 * The `Resource` of a policy: a URL with wildcards. `*` is any run of characters and `?` is one, each within one of the sections scheme,
 * host, path and query; a `*` at the end of a pattern that ends with the path covers the query, too, and one at the end of a pattern that
 * ends with the host everything after it. `\?` begins the query. Without `\?`, an unescaped `?` is also tried as the begin of the query if it
 * does not match as a wildcard, because signers write URLs with queries unescaped.
 *
 * A match takes time linear in the length of the URL, for any pattern (see `WildcardPattern`).
 */
import { plainPattern } from 'svc/plugins/policy/api'
import type { SectionedUrl } from './signed-request.ts'

const queryMark = '\\?'

export function matchesResource(pattern: string, url: SectionedUrl): boolean {
  if (pattern === '*') return true
  const schemeEnd = pattern.indexOf('://')
  if (schemeEnd < 0 || !matches(pattern.slice(0, schemeEnd).toLowerCase(), url.scheme)) return false
  const rest = pattern.slice(schemeEnd + 3)
  const escaped = rest.indexOf(queryMark)
  if (escaped >= 0) return matchesRest(rest.slice(0, escaped), rest.slice(escaped + queryMark.length), url)
  if (matchesRest(rest, undefined, url)) return true
  const plain = rest.indexOf('?')
  return plain >= 0 && matchesRest(rest.slice(0, plain), rest.slice(plain + 1), url)
}

/** `query`: undefined where the pattern has none. */
function matchesRest(hostAndPath: string, query: string | undefined, url: SectionedUrl): boolean {
  const slash = hostAndPath.indexOf('/')
  const host = (slash < 0 ? hostAndPath : hostAndPath.slice(0, slash)).toLowerCase()
  const isOpen = query === undefined && hostAndPath.endsWith('*')
  if (!matches(host, url.host)) return false
  // Every URL has a path, so a pattern without one matches all URLs or none.
  if (slash < 0) return isOpen
  if (!matches(hostAndPath.slice(slash), textOfBytes(url.path))) return false
  if (query === undefined) return isOpen || url.query === undefined
  return url.query !== undefined && matches(query, textOfBytes(url.query))
}

const matches = (pattern: string, text: string): boolean =>
  /[*?]/.test(pattern) ? plainPattern(pattern).matches(text) : pattern === text

/** Raw bytes of a target are a character each; a policy is text. */
function textOfBytes(raw: string): string {
  return /[\x80-\xff]/.test(raw) ? Buffer.from(raw, 'latin1').toString() : raw
}
