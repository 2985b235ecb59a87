/** Headers that operators add to answers or take from them. */
import { asHeaderValue } from 'svc/plugins/payload/api'

/** An empty value removes. */
export type HeaderChange = readonly [name: string, value: string]

export type Preset = 'none' | 'standard' | 'strict'

const year = 31_536_000

/** `secure`: over TLS. Browsers obey HSTS and the opener policy only there. */
export function presetHeaders(preset: Preset | undefined, secure: boolean): readonly HeaderChange[] {
  if (preset === undefined || preset === 'none') return []
  const isStrict = preset === 'strict'
  const headers: HeaderChange[] = [
    ['X-Content-Type-Options', 'nosniff'],
    ['Referrer-Policy', 'strict-origin-when-cross-origin'],
    ['X-Frame-Options', isStrict ? 'DENY' : 'SAMEORIGIN'],
  ]
  if (secure) headers.push(['Strict-Transport-Security', `max-age=${year}${isStrict ? '; includeSubDomains' : ''}`])
  if (!isStrict) return headers
  const policy = "default-src 'self'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
  headers.push(['Content-Security-Policy', policy], ['Cross-Origin-Resource-Policy', 'same-origin'])
  // Of a page without TLS browsers ignore it, and report an error.
  if (secure) headers.push(['Cross-Origin-Opener-Policy', 'same-origin'])
  return headers
}

/** Headers that only the server may set. `expect` would make Node.js write the head as UTF-8; HTTP/2 has no `http2-settings`. */
const reserved: ReadonlySet<string> = new Set([
  'age',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
  'expect',
  'http2-settings',
  'keep-alive',
  'last-modified',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'server',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'x-amz-request-id',
])

/** Why a header cannot be set: without subject. Undefined: it can. */
export function headerProblem(name: string, value: string): string | undefined {
  const lower = name.toLowerCase()
  if (reserved.has(lower) || lower.startsWith('x-cache')) return 'is a header that the server itself sets'
  try {
    asHeaderValue(lower, value)
    return undefined
  } catch {
    return 'is no header: a name has letters, digits and hyphens, a value no control characters'
  }
}

export function headerChanges(headers: Readonly<Record<string, string>> = {}): readonly HeaderChange[] {
  return Object.entries(headers).map(([name, value]) => [name, asHeaderValue(name.toLowerCase(), value)])
}

const forSharedCaches = ['CDN-Cache-Control', 'Surrogate-Control']
const sharedDirectives: ReadonlySet<string> = new Set(['public', 'private', 's-maxage', 'proxy-revalidate'])

/**
 * `Cache-Control` of an answer that is for whoever has a signature: `private`, so that a cache in front does not give it to others. What
 * it says to browsers stays. `no-store` needs no more.
 */
function privateCacheControl(control = ''): string {
  const directives = control
    .split(',')
    .map(directive => directive.trim())
    .filter(directive => directive !== '')
  const nameOf = (directive: string) => directive.split('=')[0]!.trim().toLowerCase()
  if (directives.some(directive => nameOf(directive) === 'no-store')) return control
  return ['private', ...directives.filter(directive => !sharedDirectives.has(nameOf(directive)))].join(', ')
}

/** Makes the answer of a behavior with this access one that no shared cache keeps. After all headers of the site. */
export function keepFromSharedCaches(headers: AnswerHeaders, access: string): void {
  const control = headers.get('Cache-Control')
  if (access === 'signed') headers.set('Cache-Control', privateCacheControl(control))
  if (access === 'authenticated' && !control?.includes('no-store')) headers.set('Cache-Control', 'private, no-store')
  // Made for caches in front alone, and stronger there than `private` (RFC 9213).
  if (access !== 'public') headers.apply(forSharedCaches.map(name => [name, '']))
}

/** Headers of one answer, each name once, without regard to case. They are few: lists are faster than a map, and can be copied at once. */
export class AnswerHeaders {
  /** In lower case; the name and the value of each are at twice its index in the list. */
  readonly #names: string[]
  readonly #list: string[]

  constructor(from?: AnswerHeaders) {
    this.#names = from === undefined ? [] : from.#names.slice()
    this.#list = from === undefined ? [] : from.#list.slice()
  }

  set(name: string, value: string | undefined): void {
    if (value === undefined) return
    const lower = name.toLowerCase()
    const index = this.#names.indexOf(lower)
    if (index < 0) {
      this.#names.push(lower)
      this.#list.push(name, value)
    } else {
      this.#list[2 * index] = name
      this.#list[2 * index + 1] = value
    }
  }

  apply(changes: readonly HeaderChange[]): void {
    for (const [name, value] of changes) {
      if (value === '') this.#remove(name.toLowerCase())
      else this.set(name, value)
    }
  }

  get(name: string): string | undefined {
    const index = this.#names.indexOf(name.toLowerCase())
    return index < 0 ? undefined : this.#list[2 * index + 1]
  }

  /** Names and values in turn. */
  list(): string[] {
    return this.#list.slice()
  }

  #remove(lower: string): void {
    const index = this.#names.indexOf(lower)
    if (index < 0) return
    this.#names.splice(index, 1)
    this.#list.splice(2 * index, 2)
  }
}
