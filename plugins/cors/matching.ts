/**
 * Rules made ready, and which of them is for a request: the first whose origins, methods and (before a preflight) headers all fit.
 * Patterns have at most one `*` and are compared by their two ends, in time linear in the text.
 */
import type { CorsRule } from './rules.ts'

interface Pattern {
  /** Before the `*`; the whole text where there is none. */
  readonly start: string
  readonly end: string | undefined
}

interface ReadyRule {
  readonly origins: readonly Pattern[]
  readonly methods: ReadonlySet<string>
  /** Lower case. */
  readonly headers: readonly Pattern[]
  /** Headers of an answer that depend on nothing but the rule. */
  readonly fixed: readonly string[]
}

export interface ReadyRules {
  /** Headers for the answer to a request from that origin; undefined where no rule is for it. */
  forRequest(origin: string, method: string): readonly string[] | undefined
  /** For a preflight. `names`: the headers that the request is going to have, in lower case. */
  forPreflight(origin: string, method: string, names: readonly string[]): readonly string[] | undefined
}

/** Answers depend on these, so that no cache may give one page's answer to another. */
export const vary: readonly string[] = ['Vary', 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method']

/** More names than this fit no rule. */
const namesMax = 200

export function readyRules(rules: readonly CorsRule[]): ReadyRules {
  const ready = rules.map(readyRule)
  return {
    forRequest(origin, method) {
      for (const rule of ready) {
        const allowed = rule.methods.has(method) ? allowedOrigin(rule, origin) : undefined
        if (allowed !== undefined) return [...allowed, ...rule.fixed]
      }
      return undefined
    },
    forPreflight(origin, method, names) {
      if (names.length > namesMax) return undefined
      for (const rule of ready) {
        const allowed = rule.methods.has(method) ? allowedOrigin(rule, origin) : undefined
        if (allowed === undefined || !names.every(name => rule.headers.some(pattern => fits(pattern, name)))) continue
        const headers = names.length === 0 ? [] : ['Access-Control-Allow-Headers', names.join(', ')]
        return [...allowed, ...headers, ...rule.fixed]
      }
      return undefined
    },
  }
}

/** Names in `Access-Control-Request-Headers`. */
export function namesOf(list: string | undefined): string[] {
  return (list ?? '')
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '')
}

function readyRule(rule: CorsRule): ReadyRule {
  const { allowedOrigins, allowedMethods, allowedHeaders, exposeHeaders, maxAgeSeconds } = rule
  return {
    origins: allowedOrigins.map(readyPattern),
    methods: new Set(allowedMethods),
    headers: allowedHeaders.map(name => readyPattern(name.toLowerCase())),
    fixed: [
      'Access-Control-Allow-Methods',
      allowedMethods.join(', '),
      ...(exposeHeaders.length === 0 ? [] : ['Access-Control-Expose-Headers', exposeHeaders.join(', ')]),
      ...(maxAgeSeconds === undefined ? [] : ['Access-Control-Max-Age', String(maxAgeSeconds)]),
    ],
  }
}

function readyPattern(text: string): Pattern {
  const star = text.indexOf('*')
  return star === -1 ? { start: text, end: undefined } : { start: text.slice(0, star), end: text.slice(star + 1) }
}

function fits({ start, end }: Pattern, text: string): boolean {
  if (end === undefined) return text === start
  return text.length >= start.length + end.length && text.startsWith(start) && text.endsWith(end)
}

/** Everybody's answer is the same where everybody may read it; then credentials of the browser must not matter. */
function allowedOrigin(rule: ReadyRule, origin: string): readonly string[] | undefined {
  for (const pattern of rule.origins) {
    if (!fits(pattern, origin)) continue
    if (pattern.start === '' && pattern.end === '') return ['Access-Control-Allow-Origin', '*']
    return ['Access-Control-Allow-Origin', origin, 'Access-Control-Allow-Credentials', 'true']
  }
  return undefined
}
