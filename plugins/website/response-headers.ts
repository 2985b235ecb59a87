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

/** Headers that only the server may set. */
const reserved: ReadonlySet<string> = new Set([
  'age',
  'connection',
  'content-encoding',
  'content-length',
  'content-range',
  'date',
  'etag',
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
