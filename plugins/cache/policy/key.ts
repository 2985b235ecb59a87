/** The cache key: the parts of a request that its answer depends on. Requests with the same key get the same answer. */
import { hash } from 'node:crypto'
import type { CachePolicy } from './policy.ts'

export interface KeyRequest {
  /** The distribution, or another name of the space of the key. */
  readonly space: string
  /** Digest of the settings that shape answers: when it changes, older entries are no longer found. */
  readonly shape: string
  /** Lower case, without port. */
  readonly host: string
  /** Decoded. */
  readonly path: string
  /** Raw, without `?` and without parameters of signatures. */
  readonly query: string
  /** The values of a header and of a cookie. */
  header(name: string): string | undefined
  cookie(name: string): string | undefined
}

export interface CacheKey {
  /** Readable form for operators: one part in each line. */
  readonly text: string
  /** SHA-256 of the text: 32 characters of one byte each. */
  readonly id: string
}

/** Parameters that `normalize` drops: they tell the page, not the server, where a visitor comes from. */
const isTracking = (name: string) => name.startsWith('utm_') || name === 'fbclid' || name === 'gclid'
/** Headers that are never in a key: each has rules of its own. */
const unkeyed: ReadonlySet<string> = new Set(['authorization', 'cookie', 'range', 'host'])

/** Escapes a text so that it is one line; different texts become different lines. */
const lineOf = (text: string) =>
  !/[\r\n\\]/.test(text)
    ? text
    : text.replaceAll(/[\r\n\\]/g, character => (character === '\n' ? '\\n' : character === '\r' ? '\\r' : '\\\\'))

export function cacheKey(
  request: KeyRequest,
  { queryString, headers, cookies, normalize, includeHost }: CachePolicy['cacheKey'],
): CacheKey {
  const { space, shape, host, path, query } = request
  const keyed = queryOf(query, queryString, normalize)
  const place = `v1\n${lineOf(space)}\n${lineOf(shape)}\n${includeHost ? lineOf(host) : '-'}\n${lineOf(path)}\n${lineOf(keyed)}`
  if (headers.length === 0 && cookies.length === 0) return { text: place, id: digestOf(place) }
  const lines: string[] = []
  for (const name of [...new Set(headers.map(one => one.toLowerCase()))].sort()) {
    if (!unkeyed.has(name)) lines.push(`header:${name}=${request.header(name)?.trim() ?? ''}`)
  }
  for (const name of [...new Set(cookies)].sort()) lines.push(`cookie:${name}=${request.cookie(name)?.trim() ?? ''}`)
  const text = [place, ...lines.map(lineOf)].join('\n')
  return { text, id: digestOf(text) }
}

/** Digests of recent texts: a look-up takes a fifth of the time of a new digest. */
const known = new Map<string, string>()
const knownMax = 4096
/** Longer texts would take more memory than their look-up saves time. */
const knownCharsMax = 512

function digestOf(text: string): string {
  let id = known.get(text)
  if (id === undefined) {
    id = hash('sha256', text, 'binary')
    if (known.size >= knownMax) known.clear()
    if (text.length <= knownCharsMax) known.set(text, id)
  }
  return id
}

function queryOf(query: string, rule: string, isNormalized: boolean): string {
  if (rule === 'none' || query === '') return ''
  const [kind, list = ''] = rule.split(':') as [string, string?]
  const named = new Set(list.split(',').filter(name => name !== ''))
  const keeps = (name: string) => {
    if (isNormalized && isTracking(name)) return false
    return kind === 'all' || (kind === 'allow' ? named.has(name) : !named.has(name))
  }
  const kept = query.split('&').filter(pair => pair !== '' && keeps(nameOf(pair)))
  if (!isNormalized) return kept.join('&')
  // Parameters of one name stay in their order, which may mean something.
  return kept
    .map(pair => [nameOf(pair), recode(pair)] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, pair]) => pair)
    .join('&')
}

function nameOf(pair: string): string {
  const equals = pair.indexOf('=')
  return decoded(equals < 0 ? pair : pair.slice(0, equals))
}

/** Encodes a name and a value in a uniform way. `+` may stand for a space, so it stays; so does text that cannot be decoded. */
function recode(pair: string): string {
  return pair
    .split(/([=+])/)
    .map(part => {
      if (part === '=' || part === '+') return part
      const text = decoded(part)
      return text === part && part.includes('%') ? part : encodeURIComponent(text)
    })
    .join('')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An invalid escape stands for itself.
    return text
  }
}
