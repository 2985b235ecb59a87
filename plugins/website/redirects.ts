/**
 * Redirects of a distribution. A location is absolute and has the host of the request or that of the rule, so the path of a request
 * cannot lead to another host.
 */
import type { DistributionProblem, Redirect } from 'svc/plugins/distributions/api'
import { encodePath } from './path.ts'

export interface RedirectRequest {
  readonly secure: boolean
  /** The host without its port. */
  readonly host: string
  /** `:8080`, or empty. */
  port(): string
  /** Decoded. */
  readonly path: string
  /** Raw, with its question mark; or empty. */
  readonly query: string
}

export interface Redirection {
  readonly status: number
  readonly location: string
}

/** Returns the first rule that leads elsewhere; undefined: none does. */
export type Redirects = (request: RedirectRequest) => Redirection | undefined

interface Rule {
  readonly rule: Redirect
  readonly from: readonly string[] | undefined
  readonly hasSplat: boolean
}

export function compileRedirects(rules: readonly Redirect[]): Redirects {
  const compiled: readonly Rule[] = rules.map(rule => ({
    rule,
    from: rule.from?.split('/'),
    hasSplat: rule.from?.endsWith('*') === true,
  }))
  return request => {
    for (const rule of compiled) {
      const found = follow(rule, request)
      if (found !== undefined) return found
    }
    return undefined
  }
}

function follow({ rule, from, hasSplat }: Rule, request: RedirectRequest): Redirection | undefined {
  const { secure, host, path, query } = request
  if (rule.httpsOnly === true && secure) return undefined
  if (rule.hostFrom !== undefined && rule.hostFrom !== host) return undefined
  const captured = from === undefined ? new Map<string, string>() : capture(from, hasSplat, path)
  if (captured === undefined) return undefined
  const port = request.port()
  const target = rule.to === undefined ? encodePath(path) : fill(rule.to, captured)
  const scheme = secure || rule.httpsOnly === true ? 'https' : 'http'
  // The port of plain HTTP says nothing about that of https.
  const authority = rule.toHost ?? `${host}${rule.httpsOnly === true ? '' : port}`
  const rest = target.includes('?') ? target : `${target}${query}`
  const location = `${scheme}://${authority}${rest.replace(/^\/+/, '/')}`
  const own = `${secure ? 'https' : 'http'}://${host}${port}${encodePath(path)}${query}`
  return location === own ? undefined : { status: rule.status ?? 302, location }
}

function capture(from: readonly string[], hasSplat: boolean, path: string): ReadonlyMap<string, string> | undefined {
  const segments = path.split('/')
  const fixed = hasSplat ? from.length - 1 : from.length
  if (hasSplat ? segments.length < from.length : segments.length !== from.length) return undefined
  const captured = new Map<string, string>()
  for (let index = 0; index < fixed; index++) {
    const wanted = from[index]
    const segment = segments[index]
    if (wanted.startsWith(':') && wanted.length > 1) {
      if (segment === '') return undefined
      captured.set(wanted.slice(1), segment)
    } else if (wanted !== segment) return undefined
  }
  if (!hasSplat) return captured
  const last = segments.slice(fixed).join('/')
  const start = from[fixed].slice(0, -1)
  if (!last.startsWith(start)) return undefined
  return captured.set('splat', last.slice(start.length))
}

/** The operator writes `to` encoded as in a URL; values from the request are encoded here. */
function fill(to: string, captured: ReadonlyMap<string, string>): string {
  return to.replaceAll(/:([A-Za-z_][A-Za-z0-9_]*)/g, (whole, name: string) => {
    const value = captured.get(name)
    return value === undefined ? whole : encodePath(value)
  })
}

const hostAndPort = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:\d{1,5})?$/i
const urlText = /^[\x21-\x7e]*$/

/** Problems of a redirect, at its fields. */
export function redirectProblems(redirect: Redirect, aliases: readonly string[]): readonly DistributionProblem[] {
  const { from, to, hostFrom, toHost, httpsOnly } = redirect
  const problems: DistributionProblem[] = []
  const add = (element: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ element, message })
  }
  if (to === undefined && toHost === undefined && httpsOnly !== true) {
    add('/to', 'is missing: a redirect has a path or a host to go to, or is for https only')
  }
  add('/from', from === undefined ? undefined : fromProblem(from))
  add('/to', to === undefined ? undefined : toProblem(to, from))
  if (toHost !== undefined && !hostAndPort.test(toHost)) add('/toHost', 'is no host, perhaps with a port')
  if (hostFrom !== undefined && !isAmong(hostFrom.toLowerCase(), aliases)) {
    add('/hostFrom', 'is no alias of the distribution')
  }
  return problems
}

function fromProblem(from: string): string | undefined {
  if (!from.startsWith('/')) return 'does not begin with a slash'
  if (from.slice(0, -1).includes('*')) return 'has a * that is not at its end'
  const names = from.split('/').filter(segment => segment.startsWith(':'))
  if (new Set(names).size !== names.length) return 'names a segment twice'
  return names.some(name => !/^:[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    ? 'has a name of a segment that is none'
    : undefined
}

function toProblem(to: string, from: string | undefined): string | undefined {
  if (!(to.startsWith('/') && urlText.test(to) && !to.includes('\\'))) {
    return 'is no path as URLs have it: it begins with a slash and is percent-encoded'
  }
  for (const [, name] of to.matchAll(/:([A-Za-z_][A-Za-z0-9_]*)/g)) {
    const isKnown = name === 'splat' ? from?.endsWith('*') : from?.split('/').includes(`:${name}`)
    if (!isKnown) return `has :${name}, which the path that it is from does not have`
  }
  return undefined
}

function isAmong(host: string, aliases: readonly string[]): boolean {
  return aliases.some(alias => {
    const name = alias.toLowerCase()
    return name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)) && host.length > name.length - 1)
  })
}
