/**
 * The session cookie. Browsers give cookies to every port of a host, so that any page of the host can set one of our name, for a longer
 * path as well. With TLS the prefix `__Host-` keeps those away: such a cookie can only be set with `Secure`, for the path `/` and by the
 * host itself over TLS. Sources: RFC 6265 and the draft that follows it, section 4.1.3.2.
 */

import type { IncomingHttpHeaders } from 'node:http'

export const cookieName = 'svc_session'
export const secureCookieName = `__Host-${cookieName}`

/** More than browsers keep for one host (180): what somebody has set never hides the right one. */
const valuesMax = 256
/** 32 random bytes, base64url. */
export const cookiePattern = /^[A-Za-z0-9_-]{43}$/

export interface CookieRequest {
  readonly headers: IncomingHttpHeaders
  /** Whether browsers reach the console over TLS. */
  readonly isSecure: boolean
}

/**
 * Each value of the right form once. With TLS only the cookie counts that no other page can have set; a script, which says nothing of the
 * site that it comes from, may send the plain one alone.
 */
export function readSessionCookies({ headers, isSecure }: CookieRequest): string[] {
  const own = isSecure ? valuesOf(headers.cookie, secureCookieName) : []
  const mayBePlain = !isSecure || (own.length === 0 && headers['sec-fetch-site'] === undefined)
  const values = new Set<string>()
  for (const value of mayBePlain ? valuesOf(headers.cookie, cookieName) : own) {
    if (cookiePattern.test(value)) values.add(value)
    if (values.size === valuesMax) break
  }
  return [...values]
}

/** Whether a browser has sent a session cookie; the session may have ended. */
export function hasSessionCookie(header: string | undefined): boolean {
  return [cookieName, secureCookieName].some(name => valuesOf(header, name).some(value => value !== ''))
}

function valuesOf(header: string | undefined, name: string): string[] {
  const values: string[] = []
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=')
    if (equals > 0 && part.slice(0, equals).trim() === name) values.push(part.slice(equals + 1).trim())
  }
  return values
}

export interface SessionCookies {
  /** Whether browsers reach the console over TLS, as far as this server can know. */
  isSecure(exchange: { readonly secure: boolean }): boolean
  /** Values of `Set-Cookie`: the first, with TLS the first two, set ours; the others remove what lies at the paths below which the console's requests are. */
  set(value: string, isSecure: boolean, maxAgeSeconds: number): string[]
  clear(isSecure: boolean): string[]
}

/** `publicUrl` is where browsers have the console, if that is not where it is for us: its scheme and path count. */
export function createSessionCookies(publicUrl: string | undefined): SessionCookies {
  const { protocol, pathname } = new URL(publicUrl ?? 'http://unknown/')
  const base = pathname.replace(/\/+$/, '')
  const ownPath = base === '' ? '/' : base
  const paths = new Set(['/', '/api', '/api/v1', ownPath, `${base}/api`, `${base}/api/v1`])

  function one(name: string, value: string, path: string, isSecure: boolean, maxAgeSeconds: number): string {
    const attributes = `Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`
    return `${name}=${value}; ${attributes}${isSecure ? '; Secure' : ''}`
  }

  function set(value: string, isSecure: boolean, maxAgeSeconds: number): string[] {
    const plainPath = isSecure ? '/' : ownPath
    const own = one(cookieName, value, plainPath, isSecure, maxAgeSeconds)
    const others = [...paths].filter(path => path !== plainPath).map(path => one(cookieName, '', path, isSecure, 0))
    return isSecure ? [one(secureCookieName, value, '/', true, maxAgeSeconds), own, ...others] : [own, ...others]
  }

  return {
    isSecure: ({ secure }) => secure || protocol === 'https:',
    set,
    clear: isSecure => set('', isSecure, 0),
  }
}
