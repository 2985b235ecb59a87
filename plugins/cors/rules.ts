/** Rules as they are stored, and what a rule may say. */
import { type Static, Type } from 'typebox'

export const CorsRule = Type.Object(
  {
    id: Type.Optional(Type.String()),
    allowedOrigins: Type.Array(Type.String()),
    allowedMethods: Type.Array(Type.String()),
    allowedHeaders: Type.Array(Type.String()),
    exposeHeaders: Type.Array(Type.String()),
    maxAgeSeconds: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
)

export type CorsRule = Static<typeof CorsRule>

export interface CorsRuleProblem {
  /** Index of the rule; -1 for the whole list. */
  readonly index: number
  /** Of the rule, with the index of the entry: `allowedOrigins[0]`; absent for the whole list. */
  readonly field?: string
  /** A sentence, as AWS says it where AWS refuses the same. */
  readonly message: string
}

const rulesMax = 100
const idLengthMax = 255
const methods = new Set(['GET', 'PUT', 'POST', 'DELETE', 'HEAD'])
/** A token of RFC 9110 section 5.6.2. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** What can be written into a header again: an origin is visible ASCII. */
const visible = /^[!-~]+$/
const maxAgeMax = 2 ** 31 - 1

/** Everything that is wrong with a list of rules; nothing for none at all, which removes them. */
export function checkCorsRules(rules: readonly CorsRule[]): readonly CorsRuleProblem[] {
  const problems: CorsRuleProblem[] = []
  if (rules.length > rulesMax) {
    problems.push({
      index: -1,
      message: `The number of CORS rules should not exceed allowed limit of ${rulesMax} rules.`,
    })
  }
  for (const [index, rule] of rules.entries()) {
    for (const problem of problemsOf(rule)) problems.push({ index, ...problem })
  }
  return problems
}

function* problemsOf(rule: CorsRule): Generator<Omit<CorsRuleProblem, 'index'>> {
  const { id, allowedOrigins, allowedMethods, allowedHeaders, exposeHeaders, maxAgeSeconds } = rule
  const problem = (field: keyof CorsRule, message: string, entry?: number) => ({
    field: entry === undefined ? field : `${field}[${entry}]`,
    message,
  })
  if (id !== undefined && id.length > idLengthMax) {
    yield problem('id', `The ID of a rule has at most ${idLengthMax} characters.`)
  }
  if (allowedOrigins.length === 0) yield problem('allowedOrigins', 'A rule needs at least one AllowedOrigin.')
  if (allowedMethods.length === 0) yield problem('allowedMethods', 'A rule needs at least one AllowedMethod.')
  for (const [entry, origin] of allowedOrigins.entries()) {
    if (!visible.test(origin)) yield problem('allowedOrigins', `AllowedOrigin "${origin}" is no origin.`, entry)
    else if (wildcards(origin) > 1) {
      yield problem('allowedOrigins', `AllowedOrigin "${origin}" can not have more than one wildcard.`, entry)
    }
  }
  for (const [entry, method] of allowedMethods.entries()) {
    if (!methods.has(method)) {
      const message = `Found unsupported HTTP method in CORS config. Unsupported method is ${method}`
      yield problem('allowedMethods', message, entry)
    }
  }
  for (const [entry, name] of allowedHeaders.entries()) {
    if (!headerName.test(name))
      yield problem('allowedHeaders', `AllowedHeader "${name}" is no name of a header.`, entry)
    else if (wildcards(name) > 1) {
      yield problem('allowedHeaders', `AllowedHeader "${name}" can not have more than one wildcard.`, entry)
    }
  }
  for (const [entry, name] of exposeHeaders.entries()) {
    if (name.includes('*')) {
      const message = `ExposeHeader "${name}" contains wildcard. We currently do not support wildcard for ExposeHeader.`
      yield problem('exposeHeaders', message, entry)
    } else if (!headerName.test(name)) {
      yield problem('exposeHeaders', `ExposeHeader "${name}" is no name of a header.`, entry)
    }
  }
  if (maxAgeSeconds !== undefined && Math.abs(maxAgeSeconds) > maxAgeMax) {
    yield problem('maxAgeSeconds', `MaxAgeSeconds is an integer from -${maxAgeMax} to ${maxAgeMax}.`)
  }
}

function wildcards(text: string): number {
  return text.split('*').length - 1
}
