/** Answers to pages of other origins. Origins are compared as a whole; `*` is every one, and then never with credentials. */
import type { Cors } from 'svc/plugins/distributions/api'

export interface CorsAnswers {
  /** The CORS headers of an answer, names and values in turn. Without an origin only `Vary`. */
  forRequest(origin: string | undefined): readonly string[]
  /** Undefined: the page may not send this. */
  forPreflight(origin: string, method: string, headers: string | undefined): readonly string[] | undefined
}

/** More names than this fit no rule. */
const namesMax = 200

export function compileCors(cors: Cors): CorsAnswers {
  const { allowedOrigins, allowedMethods = ['GET', 'HEAD'], allowedHeaders = [], exposeHeaders = [] } = cors
  const any = allowedOrigins.includes('*')
  const origins: ReadonlySet<string> = new Set(allowedOrigins)
  const anyHeader = allowedHeaders.includes('*')
  const names: ReadonlySet<string> = new Set(allowedHeaders.map(name => name.toLowerCase()))
  const vary = any ? [] : ['Vary', 'Origin']

  function allowed(origin: string): string[] | undefined {
    if (any) return ['Access-Control-Allow-Origin', '*']
    if (!origins.has(origin)) return undefined
    const headers = ['Access-Control-Allow-Origin', origin]
    if (cors.allowCredentials) headers.push('Access-Control-Allow-Credentials', 'true')
    return headers
  }

  return {
    forRequest(origin) {
      const headers = origin === undefined ? undefined : allowed(origin)
      if (headers === undefined) return vary
      if (exposeHeaders.length > 0) headers.push('Access-Control-Expose-Headers', exposeHeaders.join(', '))
      return [...headers, ...vary]
    },
    forPreflight(origin, method, asked) {
      const headers = allowed(origin)
      if (headers === undefined || !(allowedMethods as readonly string[]).includes(method)) return undefined
      const wanted = (asked ?? '')
        .split(',')
        .map(name => name.trim().toLowerCase())
        .filter(name => name !== '')
      if (wanted.length > namesMax || (!anyHeader && !wanted.every(name => names.has(name)))) return undefined
      headers.push('Access-Control-Allow-Methods', allowedMethods.join(', '))
      if (wanted.length > 0) headers.push('Access-Control-Allow-Headers', wanted.join(', '))
      if (cors.maxAge !== undefined) headers.push('Access-Control-Max-Age', String(cors.maxAge))
      return headers
    },
  }
}
