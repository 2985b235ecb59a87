/** Compiles one rule, or collects its problems; compares a compiled rule with a request. */

import { suggest } from 'svc/kernel'
import type { NormalizeKey, PolicyAction } from 'svc/plugins/policy/api'
import { type Condition, readConditions } from './conditions.ts'
import {
  type CaptureCondition,
  capturesEqual,
  type Pattern,
  type RegexList,
  readCaptureEquals,
  readMatch,
} from './matching.ts'
import { isNamed, type Principals, quote, readPrincipals } from './principals.ts'
import type { Problems } from './problems.ts'
import type { RequestView } from './request-view.ts'
import { type AccessRule, type ActionClass, actionClasses, isPublicRule, priorityMax } from './rule.ts'

export interface CompiledRule {
  readonly rule: AccessRule
  readonly isDeny: boolean
  readonly isPublic: boolean
  readonly principals: Principals
  /** The actions, spelled as in the catalogue. */
  readonly actions: ReadonlySet<string>
  readonly pattern: Pattern
  readonly captures: CaptureCondition | undefined
  readonly conditions: readonly Condition[]
}

export interface RuleContext {
  readonly actions: readonly PolicyAction[]
  readonly normalizeKey: NormalizeKey
}

/** Why a rule does not match: the caller, the action, the key, or the name of a condition. */
export type Mismatch = 'principal' | 'action' | 'match' | (string & {})

const idForm = /^[A-Za-z0-9._-]{1,64}$/
const actionsMax = 100
const descriptionCharsMax = 1024

/** After a problem was added, the result serves only to find further problems. */
export function compileRule(
  rule: AccessRule,
  { actions, normalizeKey }: RuleContext,
  regexes: RegexList,
  problems: Problems,
): CompiledRule {
  const { id, priority, effect, match, conditions = {}, description = '' } = rule
  if (!idForm.test(id)) problems.add('id', `${quote(id)} is no id: 1 to 64 letters, digits and . _ -`)
  if (Math.abs(priority) > priorityMax) problems.add('priority', `is between ${-priorityMax} and ${priorityMax}`)
  if (description.length > descriptionCharsMax)
    problems.add('description', `has more than ${descriptionCharsMax} characters`)
  const pattern = readMatch(match, normalizeKey, regexes, problems)
  const { captureEquals } = conditions
  return {
    rule,
    isDeny: effect === 'deny',
    isPublic: isPublicRule(rule),
    principals: readPrincipals(rule.principals, problems),
    actions: readActions(rule.actions, actions, problems),
    pattern,
    captures:
      captureEquals === undefined
        ? undefined
        : readCaptureEquals(captureEquals, pattern, match?.type, normalizeKey, problems),
    conditions: readConditions(conditions, problems),
  }
}

const listFamily = 's3:listbucket*'

function readActions(
  texts: readonly string[],
  known: readonly PolicyAction[],
  problems: Problems,
): ReadonlySet<string> {
  if (texts.length === 0)
    problems.add('actions', `names nothing: ${Object.keys(actionClasses).join(', ')} and actions of S3`)
  if (texts.length > actionsMax) problems.add('actions', `names more than ${actionsMax}`)
  const listing: readonly string[] = actionClasses.list
  const names = known.flatMap(({ action, level, status }) =>
    action.startsWith('s3:') && status === 'active' && (level === 'object' || listing.includes(action)) ? [action] : [],
  )
  const byName = new Map(names.map(name => [name.toLowerCase(), name]))
  const found = new Set<string>()
  for (const [index, text] of texts.entries()) {
    const expanded = expandAction(text, byName)
    if (expanded === undefined) {
      const all = [...Object.keys(actionClasses), ...names]
      const what = 'is neither a class of actions nor an action on objects or s3:ListBucket…'
      problems.add(`actions[${index}]`, `${quote(text)} ${what}${suggest(text, all)}`)
    } else for (const name of expanded) found.add(name)
  }
  return found
}

/** The actions that one entry names; undefined where there are none. */
export function expandAction(text: string, byName: ReadonlyMap<string, string>): readonly string[] | undefined {
  if (Object.hasOwn(actionClasses, text)) return actionClasses[text as ActionClass]
  if (text.toLowerCase() === listFamily) return actionClasses.list
  const name = byName.get(text.toLowerCase())
  return name === undefined ? undefined : [name]
}

/**
 * Compares a rule with a request whose action it names: undefined if it matches, else the first mismatch. If a value of the request is not
 * known, an allow does not match, and a deny may. `isPublicBlocked`: the principal `*` of an allow does not count.
 */
export function mismatchOf(rule: CompiledRule, view: RequestView, isPublicBlocked: boolean): Mismatch | undefined {
  const { principals, isDeny } = rule
  const isOfEverybody = principals.everybody && (isDeny || !isPublicBlocked)
  if (!isOfEverybody && !isNamed(principals, view.request.identity)) return 'principal'
  return circumstantialMismatchOf(rule, view)
}

/** Like `mismatchOf`, for a rule that is known to name the caller. */
export function circumstantialMismatchOf(rule: CompiledRule, view: RequestView): Mismatch | undefined {
  const { isDeny, pattern, conditions, captures } = rule
  if (!fits(rule, view)) return 'match'
  for (const condition of conditions) if (!(condition.holds(view) ?? isDeny)) return condition.name
  if (captures === undefined || pattern.isEverything || isAnyPart(view) || view.isTooLong) return undefined
  return capturesEqual(captures, view) ? undefined : 'captureEquals'
}

/** A listing of a part of the keys: an allow applies to keys that it allows, a deny only if it applies to all of them. */
const isAnyPart = ({ isListing, request }: RequestView): boolean => isListing && request.isPartial

function fits({ pattern, isDeny, captures }: CompiledRule, view: RequestView): boolean {
  if (isAnyPart(view)) return !isDeny || (pattern.isEverything && captures === undefined)
  if (view.isTooLong) return isDeny
  return pattern.isEverything || pattern.matches(view)
}
