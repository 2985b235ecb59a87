/** Warnings about valid rules: public access, rules that never decide, patterns of paths instead of keys, denies with less effect than it seems. */
import type { CompiledRule } from './compiled-rule.ts'
import { encodedPattern } from './percent-encoding.ts'
import { type AccessRule, openTimeOf } from './rule.ts'
import { covers, shadowOf } from './shadowing.ts'

export interface WarningContext {
  /** Rules that allow anonymous access have no effect. */
  readonly isPublicBlocked: boolean
  readonly nowMs: number
}

/** More are not read. */
const warningsMax = 50

/** `ordered`: as they decide. `more`: warnings of others. */
export function warningsOf(
  ordered: readonly CompiledRule[],
  context: WarningContext,
  more: readonly string[] = [],
): readonly string[] {
  const own = ordered.flatMap((one, index) => [
    ...publicWarnings(one, ordered.slice(0, index), context),
    ...shadowWarnings(one, ordered.slice(0, index)),
    ...timeWarnings(one, context),
    ...listingWarnings(one),
    ...spellingWarnings(one),
  ])
  const warnings = [...own, ...more]
  if (warnings.length <= warningsMax) return warnings
  return [...warnings.slice(0, warningsMax), `And ${warnings.length - warningsMax} more.`]
}

/** What `warningsOf` tells of one of these rules because it lets everybody in. */
export function publicWarningOf(
  ordered: readonly CompiledRule[],
  one: CompiledRule,
  context: WarningContext,
): string | undefined {
  return publicWarnings(one, ordered.slice(0, ordered.indexOf(one)), context)[0]
}

const words: readonly (readonly [action: string, word: string])[] = [
  ['s3:GetObject', 'read'],
  ['s3:ListBucket', 'list'],
  ['s3:PutObject', 'write'],
  ['s3:DeleteObject', 'delete'],
]

function publicWarnings(
  one: CompiledRule,
  before: readonly CompiledRule[],
  { isPublicBlocked, nowMs }: WarningContext,
): readonly string[] {
  const { rule, isPublic, actions } = one
  const { fromMs, toMs } = openTimeOf(rule)
  // Of a rule that has no effect only the reason is told.
  if (!isPublic || toMs <= nowMs || shadowOf(one, before) !== undefined) return []
  const verbs = words.flatMap(([action, word]) => (actions.has(action) ? [word] : []))
  const known = new Set(words.map(([action]) => action))
  const others = [...actions].filter(action => !known.has(action))
  const does = verbs.length > 0 ? joined(verbs) : `do ${joined(others.slice(0, 3))} on`
  const what = actions.has('s3:ListBucket') && verbs.length === 1 ? 'the keys' : 'objects'
  const limits =
    rule.conditions === undefined ? '' : `, where its conditions hold (${joined(Object.keys(rule.conditions))})`
  const since = fromMs > nowMs ? ` from ${rule.conditions?.timeWindow?.from} on` : ''
  const told = `"${rule.id}" lets every client ${does} ${what}${whereOf(rule)} without credentials${since}${limits}`
  if (isPublicBlocked) return [`${told}; it has no effect while public access is blocked.`]
  const isChanging = ['s3:PutObject', 's3:DeleteObject'].some(action => actions.has(action))
  return [isChanging ? `${told}: any client can fill the bucket or destroy its objects.` : `${told}.`]
}

function whereOf({ match }: AccessRule): string {
  if (match === undefined || match.pattern === '') return ' in the whole bucket'
  const { type, pattern } = match
  return type === 'prefix' ? ` whose keys begin with "${pattern}"` : ` whose keys match the ${type} "${pattern}"`
}

/** A rule never decides if an earlier rule matches every request that it matches. */
function shadowWarnings(one: CompiledRule, before: readonly CompiledRule[]): readonly string[] {
  const { rule } = one
  const whole = shadowOf(one, before)
  if (whole !== undefined) {
    const { id, priority, effect } = whole.rule
    return [
      `"${rule.id}" never decides: "${id}" (priority ${priority}, ${effect}) matches all that it matches, and comes first.`,
    ]
  }
  return before.flatMap(other => {
    const common = [...one.actions].filter(action => other.actions.has(action))
    if (common.length === 0 || other.isDeny === one.isDeny || !covers(other, one)) return []
    return [
      `"${rule.id}" does not decide ${joined(common)}: "${other.rule.id}" (priority ${other.rule.priority}, ${other.rule.effect}) comes first.`,
    ]
  })
}

function timeWarnings({ rule }: CompiledRule, { nowMs }: WarningContext): readonly string[] {
  return openTimeOf(rule).toMs <= nowMs
    ? [`"${rule.id}" has ended: its time window was open until ${rule.conditions?.timeWindow?.to}.`]
    : []
}

/** A client that lists a shorter prefix, or the whole bucket, sees these keys as well. */
function listingWarnings({ rule, isDeny, actions, pattern }: CompiledRule): readonly string[] {
  if (!isDeny || pattern.isEverything || !actions.has('s3:ListBucket')) return []
  return [
    `"${rule.id}" denies listings by the prefix that they ask for: one of a shorter prefix shows these keys all the same.`,
  ]
}

/** Patterns as they are pasted from an address bar. Keys may really look so. */
function spellingWarnings({ rule: { id, match } }: CompiledRule): readonly string[] {
  if (match === undefined) return []
  const { type, pattern } = match
  const encoded = encodedPattern(match)
  const isRooted = type === 'regex' ? /^(\^|\\A)\//.test(pattern) : pattern.startsWith('/')
  return [
    ...(isRooted
      ? [
          `"${id}" is for keys that begin with a slash: paths do, keys hardly ever. Leave out that of ${JSON.stringify(pattern)}.`,
        ]
      : []),
    ...(encoded !== undefined
      ? [
          `"${id}" is for keys with a % in their names: its pattern ${JSON.stringify(pattern)} is percent-encoded, and keys are not. Write ${encoded.decoded === undefined ? 'the characters themselves, with a backslash before those that mean something else there' : JSON.stringify(encoded.decoded)}.`,
        ]
      : []),
  ]
}

function joined(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
