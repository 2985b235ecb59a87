/** Explains for each rule whether it matches a request, and why not. Decisions are made by `RuleSet.find`. */
import type { RuleRequest } from 'svc/plugins/policy/api'
import { type CompiledRule, type Mismatch, mismatchOf } from './compiled-rule.ts'
import type { RequestView } from './request-view.ts'
import type { RuleSet } from './rule-set.ts'

export interface ExplainedRule {
  readonly id: string
  readonly priority: number
  readonly effect: 'allow' | 'deny'
  /** Named groups of its regex, where it matches. */
  readonly captures: Readonly<Record<string, string>>
  readonly matched: boolean
  readonly mismatch: 'principal' | 'action' | 'match' | 'condition' | undefined
  /** The condition that does not hold. */
  readonly condition: string | undefined
}

export interface Explanation {
  readonly rules: readonly ExplainedRule[]
  readonly matched: readonly string[]
  /** Would match if public access were not blocked. */
  readonly blockedPublic: readonly string[]
  readonly outcome: 'allow' | 'deny' | 'none'
}

export function explain(set: RuleSet | undefined, request: RuleRequest, isPublicBlocked: boolean): Explanation {
  if (set === undefined) return { rules: [], matched: [], blockedPublic: [], outcome: 'none' }
  const view = set.view(request)
  const mismatch = (rule: CompiledRule, isBlocked: boolean): Mismatch | undefined =>
    rule.actions.has(request.action) ? mismatchOf(rule, view, isBlocked) : 'action'
  const rules = set.ordered.map(rule => explainRule(rule, view, mismatch(rule, isPublicBlocked)))
  const blocked = set.ordered.filter(
    rule => isPublicBlocked && mismatch(rule, true) === 'principal' && mismatch(rule, false) === undefined,
  )
  const found = set.find(request, isPublicBlocked)
  return {
    rules,
    matched: rules.filter(({ matched }) => matched).map(({ id }) => id),
    blockedPublic: blocked.map(({ rule }) => rule.id),
    outcome: found === undefined ? 'none' : found.isDeny ? 'deny' : 'allow',
  }
}

const plain: ReadonlySet<string> = new Set(['principal', 'action', 'match'])

function explainRule(
  { rule, isDeny, pattern }: CompiledRule,
  view: RequestView,
  mismatch: Mismatch | undefined,
): ExplainedRule {
  const isCondition = mismatch !== undefined && !plain.has(mismatch)
  const captures = view.isTooLong ? undefined : pattern.regex?.capture(view.text)
  return {
    id: rule.id,
    priority: rule.priority,
    effect: isDeny ? 'deny' : 'allow',
    captures: Object.fromEntries(captures ?? []),
    matched: mismatch === undefined,
    mismatch: isCondition ? 'condition' : (mismatch as ExplainedRule['mismatch']),
    condition: isCondition ? mismatch : undefined,
  }
}
