/** The `conditions` of a rule except `captureEquals`. All of them must match. */
import { isInBlock, parseBlock, parseInstant } from 'svc/plugins/policy/api'
import { foldCase } from './fold-case.ts'
import { compileGlob, type Glob } from './glob.ts'
import { quote } from './principals.ts'
import type { Problems } from './problems.ts'
import { patternBytesMax } from './regexes.ts'
import type { RequestView } from './request-view.ts'
import type { AccessRuleConditions } from './rule.ts'

/** Longer values of headers are not looked at. */
export const valueCharsMax = 4096
export const listMax = 100
export const headersMax = 20

export interface Condition {
  /** The name in the rule, such as `sourceIp`. */
  readonly name: string
  /** Undefined if the request's value is not known: then the condition does not hold in an allow, and holds in a deny. */
  holds(view: RequestView): boolean | undefined
  /** Steps for each character of a header, at most. */
  readonly costPerCharacter: number
  /** Approximate memory of its tables, without the texts themselves. */
  readonly memoryBytes: number
}

export function readConditions(conditions: AccessRuleConditions, problems: Problems): readonly Condition[] {
  const found: Condition[] = []
  const add = (name: string, holds: Condition['holds'], globs: readonly Glob[] = []) => {
    const sum = (of: (glob: Glob) => number) => globs.reduce((total, glob) => total + of(glob), 0)
    const [costPerCharacter, memoryBytes] = [sum(glob => glob.costPerCharacter), sum(glob => glob.memoryBytes)]
    found.push({ name, holds, costPerCharacter, memoryBytes })
  }
  const { sourceIp, notSourceIp, secureTransport, timeWindow, methods, host, referer, headers } = conditions
  if (secureTransport !== undefined) add('secureTransport', ({ facts }) => facts && facts.secure === secureTransport)
  if (methods !== undefined) {
    const wanted = readMethods(methods, problems)
    add('methods', ({ facts }) => (facts?.method === undefined ? undefined : wanted.has(facts.method)))
  }
  if (timeWindow !== undefined) {
    const { fromMs, toMs } = readTimeWindow(timeWindow, problems)
    add('timeWindow', ({ facts }) => facts && facts.timeMs >= fromMs && facts.timeMs < toMs)
  }
  if (sourceIp !== undefined) {
    const isInside = readBlocks('sourceIp', sourceIp, problems)
    add('sourceIp', isInside)
  }
  if (notSourceIp !== undefined) {
    const isInside = readBlocks('notSourceIp', notSourceIp, problems)
    add('notSourceIp', view => {
      const inside = isInside(view)
      return inside === undefined ? undefined : !inside
    })
  }
  if (host !== undefined) {
    const hosts = readHosts(host, problems)
    add('host', ({ facts }) => (facts?.host === undefined ? undefined : isOneOf(hosts, facts.host.toLowerCase())))
  }
  if (referer !== undefined) {
    requireList('conditions.referer', referer, problems)
    const globs = referer.flatMap((text, index) => readGlob(`conditions.referer[${index}]`, foldCase(text), problems))
    add('referer', view => valueMatches(view, 'referer', globs, foldCase), globs)
  }
  if (headers !== undefined) {
    const entries = readHeaders(headers, problems)
    const holds = (view: RequestView) => everyKnown(entries.map(({ name, glob }) => valueMatches(view, name, [glob])))
    add(
      'headers',
      holds,
      entries.map(({ glob }) => glob),
    )
  }
  return found
}

/** False if one is false, else undefined if one is unknown. */
function everyKnown(results: readonly (boolean | undefined)[]): boolean | undefined {
  if (results.includes(false)) return false
  return results.includes(undefined) ? undefined : true
}

function valueMatches(
  { facts }: RequestView,
  name: string,
  globs: readonly Glob[],
  change: (text: string) => string = text => text,
): boolean | undefined {
  if (facts === undefined) return undefined
  // A name may be that of a property that every object has.
  const value = Object.hasOwn(facts.headers, name) ? facts.headers[name] : undefined
  if (value === undefined) return facts.hasUnknownHeaders === true ? undefined : false
  const text = typeof value === 'string' ? value : value.join(', ')
  if (text.length > valueCharsMax) return undefined
  const changed = change(text)
  return globs.some(glob => glob.matches(changed))
}

function requireList(field: string, list: readonly string[], problems: Problems): void {
  if (list.length === 0) problems.add(field, 'is empty, so that the rule could never match: leave it out')
  if (list.length > listMax) problems.add(field, `has more than ${listMax} values`)
}

function readMethods(methods: readonly string[], problems: Problems): ReadonlySet<string> {
  requireList('conditions.methods', methods, problems)
  for (const [index, method] of methods.entries()) {
    if (!/^[A-Z]{1,20}$/.test(method)) {
      problems.add(`conditions.methods[${index}]`, `${quote(method)} is no method: write GET, in capitals`)
    }
  }
  return new Set(methods)
}

const instantForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

function readTimeWindow({ from, to }: NonNullable<AccessRuleConditions['timeWindow']>, problems: Problems) {
  const read = (name: 'from' | 'to', text: string | undefined, otherwise: number): number => {
    if (text === undefined) return otherwise
    const timeMs = instantForm.test(text) ? parseInstant(text) : undefined
    if (timeMs !== undefined) return timeMs
    problems.add(`conditions.timeWindow.${name}`, `${quote(text)} is no time: write 2030-01-31T08:00:00Z`)
    return otherwise
  }
  if (from === undefined && to === undefined) problems.add('conditions.timeWindow', 'has neither "from" nor "to"')
  const fromMs = read('from', from, Number.NEGATIVE_INFINITY)
  const toMs = read('to', to, Number.POSITIVE_INFINITY)
  if (fromMs >= toMs) problems.add('conditions.timeWindow', 'ends before it begins')
  return { fromMs, toMs }
}

function readBlocks(name: string, texts: readonly string[], problems: Problems) {
  requireList(`conditions.${name}`, texts, problems)
  const blocks = texts.flatMap((text, index) => {
    const block = parseBlock(text)
    if (block !== undefined) return [block]
    problems.add(`conditions.${name}[${index}]`, `${quote(text)} is no address and no block such as 192.0.2.0/24`)
    return []
  })
  return ({ address }: RequestView): boolean | undefined => {
    if (address === undefined) return undefined
    for (const block of blocks) if (isInBlock(address, block)) return true
    return false
  }
}

const hostForm = /^(\*\.)?((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]{2,45}\])(:\d{1,5})?$/

interface Host {
  /** The host, with its port if the pattern names one; for a wildcard the part after the star. */
  readonly text: string
  readonly hasPort: boolean
  readonly isWildcard: boolean
}

function readHosts(texts: readonly string[], problems: Problems): readonly Host[] {
  requireList('conditions.host', texts, problems)
  const hosts: Host[] = []
  for (const [index, text] of texts.entries()) {
    const found = text.length > 261 ? null : hostForm.exec(text.toLowerCase())
    if (found === null) {
      problems.add(`conditions.host[${index}]`, `${quote(text)} is no host: write files.example.org or *.example.org`)
      continue
    }
    const [, star, name, port = ''] = found
    const isWildcard = star !== undefined
    hosts.push({ text: `${isWildcard ? '.' : ''}${name}${port}`, hasPort: port !== '', isWildcard })
  }
  return hosts
}

function isOneOf(hosts: readonly Host[], named: string): boolean {
  const bare = named.replace(/:\d+$/, '')
  return hosts.some(({ text, hasPort, isWildcard }) => {
    const host = hasPort ? named : bare
    return isWildcard ? host.length > text.length && host.endsWith(text) : host === text
  })
}

/** Headers with credentials: every reader of the rules could read their values. */
const secretHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'x-amz-security-token',
  'x-amz-server-side-encryption-customer-key',
  'x-amz-copy-source-server-side-encryption-customer-key',
])

function readHeaders(headers: Readonly<Record<string, string>>, problems: Problems) {
  const entries = Object.entries(headers)
  if (entries.length === 0) problems.add('conditions.headers', 'is empty: leave it out')
  if (entries.length > headersMax) problems.add('conditions.headers', `has more than ${headersMax} headers`)
  return entries.flatMap(([given, text]) => {
    const name = given.toLowerCase()
    const field = `conditions.headers.${given.slice(0, 80)}`
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/.test(name)) problems.add(field, `${quote(given)} is no name of a header`)
    if (secretHeaders.has(name)) problems.add(field, 'holds a secret, and rules can be read: no rule may ask for it')
    return readGlob(field, text, problems).map(glob => ({ name, glob }))
  })
}

function readGlob(field: string, text: string, problems: Problems): readonly Glob[] {
  if (Buffer.byteLength(text) <= patternBytesMax) return [compileGlob(text, 'text')]
  problems.add(field, `has more than ${patternBytesMax} bytes`)
  return []
}
