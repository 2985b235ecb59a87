/** Warnings about valid rules: public access, rules that never decide, denies that have less effect than they seem to have. */
import type { CompiledRule } from './compiled-rule.ts'
import type { AccessRule } from './rule.ts'

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
    ...publicWarnings(one, context),
    ...shadowWarnings(one, ordered.slice(0, index)),
    ...timeWarnings(one, context),
    ...listingWarnings(one),
  ])
  const warnings = [...own, ...more]
  if (warnings.length <= warningsMax) return warnings
  return [...warnings.slice(0, warningsMax), `And ${warnings.length - warningsMax} more.`]
}

const words: readonly (readonly [action: string, word: string])[] = [
  ['s3:GetObject', 'read'],
  ['s3:ListBucket', 'list'],
  ['s3:PutObject', 'write'],
  ['s3:DeleteObject', 'delete'],
]

function publicWarnings(
  { rule, isPublic, actions }: CompiledRule,
  { isPublicBlocked }: WarningContext,
): readonly string[] {
  if (!isPublic) return []
  const verbs = words.flatMap(([action, word]) => (actions.has(action) ? [word] : []))
  const known = new Set(words.map(([action]) => action))
  const others = [...actions].filter(action => !known.has(action))
  const does = verbs.length > 0 ? joined(verbs) : `do ${joined(others.slice(0, 3))} on`
  const what = actions.has('s3:ListBucket') && verbs.length === 1 ? 'the keys' : 'objects'
  const limits =
    rule.conditions === undefined ? '' : `, where its conditions hold (${joined(Object.keys(rule.conditions))})`
  const told = `"${rule.id}" lets every client ${does} ${what}${whereOf(rule)} without credentials${limits}`
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
  const whole = before.find(other => covers(other, one) && includesAll(other.actions, one.actions))
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

/** Whether a rule matches every caller, key and circumstance that another matches. May return false although it does. */
function covers(other: CompiledRule, one: CompiledRule): boolean {
  const { principals } = other
  const isForAll =
    principals.everybody ||
    (!one.principals.everybody &&
      includesAll(principals.users, one.principals.users) &&
      includesAll(principals.groups, one.principals.groups))
  if (!isForAll) return false
  const { conditions } = other.rule
  if (conditions !== undefined && JSON.stringify(conditions) !== JSON.stringify(one.rule.conditions)) return false
  return other.pattern.isEverything || isSamePattern(other.rule, one.rule) || isLongerPrefix(other.rule, one.rule)
}

function isSamePattern({ match: a }: AccessRule, { match: b }: AccessRule): boolean {
  return (
    a?.type === b?.type && a?.pattern === b?.pattern && (a?.caseInsensitive ?? false) === (b?.caseInsensitive ?? false)
  )
}

function isLongerPrefix({ match: a }: AccessRule, { match: b }: AccessRule): boolean {
  return a?.type === 'prefix' && b?.type === 'prefix' && b.caseInsensitive !== true && b.pattern.startsWith(a.pattern)
}

function includesAll<T>(all: ReadonlySet<T>, some: ReadonlySet<T>): boolean {
  return [...some].every(one => all.has(one))
}

function timeWarnings({ rule }: CompiledRule, { nowMs }: WarningContext): readonly string[] {
  const { to } = rule.conditions?.timeWindow ?? {}
  return to !== undefined && Date.parse(to) <= nowMs
    ? [`"${rule.id}" has ended: its time window was open until ${to}.`]
    : []
}

/** A client that lists a shorter prefix, or the whole bucket, sees these keys as well. */
function listingWarnings({ rule, isDeny, actions, pattern }: CompiledRule): readonly string[] {
  if (!isDeny || pattern.isEverything || !actions.has('s3:ListBucket')) return []
  return [
    `"${rule.id}" denies listings by the prefix that they ask for: one of a shorter prefix shows these keys all the same.`,
  ]
}

function joined(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
}
