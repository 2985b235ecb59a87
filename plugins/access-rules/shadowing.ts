/** Rules that never decide, because an earlier rule matches every request that they match. */
import type { CompiledRule } from './compiled-rule.ts'
import type { AccessRule } from './rule.ts'

/** The rule that decides everything in place of `one`; undefined if none does. It is never one that ends earlier. */
export function shadowOf(one: CompiledRule, before: readonly CompiledRule[]): CompiledRule | undefined {
  return before.find(other => covers(other, one) && includesAll(other.actions, one.actions))
}

/** Whether a rule matches every caller, key and circumstance that another matches. May return false although it does. */
export function covers(other: CompiledRule, one: CompiledRule): boolean {
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
