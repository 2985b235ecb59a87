/** The decision with its reasons: all statements that were evaluated, and the one that decided. */
import type { AccessRequest, BucketPolicies, BucketRules, IdentityPolicies, RuleDecision } from './api.ts'
import type { ActionEntry } from './catalogue.ts'
import type { Condition } from './condition-block.ts'
import type { StatementDocument } from './document.ts'
import { decide, Evaluation } from './evaluation.ts'
import type { AttachedPolicy, AttachedSource, PolicySet } from './policy-set.ts'
import type { Statement } from './statement.ts'

export type SimulationDecision = 'allow' | 'explicit-deny' | 'implicit-deny'
export type SimulationSource = AttachedSource | 'root' | 'access-rule' | 'block-public' | 'none'

export interface EvaluatedStatement {
  readonly source: AttachedSource
  readonly policyName: string
  readonly group: string
  /** Index in its document, from 0. */
  readonly index: number
  readonly sid: string
  readonly effect: 'Allow' | 'Deny'
  readonly matched: boolean
  /** The first of these that did not match; undefined if all did. */
  readonly mismatch: 'principal' | 'action' | 'resource' | 'condition' | undefined
  readonly statement: StatementDocument
  /** Line in its document at which it begins, from 1. */
  readonly line: number
  readonly column: number
  /** All conditions, if the evaluation reached them. */
  readonly conditions: readonly EvaluatedCondition[]
  /** It matched, but did not count because public access is blocked. */
  readonly isBlocked: boolean
}

export interface EvaluatedCondition {
  readonly operator: string
  readonly key: string
  /** The values of the request; empty if it has none. */
  readonly values: readonly string[]
  readonly matched: boolean
}

export interface Simulation {
  readonly allowed: boolean
  readonly decision: SimulationDecision
  /** One sentence. */
  readonly reason: string
  readonly source: SimulationSource
  /** Of the statement that decided; empty if none did. */
  readonly policyName: string
  readonly group: string
  readonly statement: EvaluatedStatement | undefined
  readonly evaluated: readonly EvaluatedStatement[]
  /** The id of the rule of the bucket that decided. Absent if no rule decided. */
  readonly rule: string | undefined
}

interface Looked extends EvaluatedStatement {
  readonly isLimit: boolean
  /** The set that it belongs to: each limit needs an allow of its own. */
  readonly set: PolicySet
}

export function simulate(
  request: AccessRequest,
  entry: ActionEntry | undefined,
  identities: readonly IdentityPolicies[],
  buckets: readonly BucketPolicies[],
  rules: readonly BucketRules[],
): Simulation {
  if (request.identity?.isRoot === true) {
    return outcome('allow', 'Root may do everything.', 'root', undefined, [])
  }
  const evaluation = new Evaluation()
  evaluation.begin(request, entry)
  const allowed = decide(evaluation, identities, buckets, rules)
  const ruled = askRules(evaluation, identities, rules)
  const looked: Looked[] = []
  const look = (set: PolicySet, isLimit: boolean) => {
    for (const attached of set.attached) {
      for (const statement of attached.policy.statements) {
        looked.push({ ...lookAt(evaluation, entry, request.action, attached, statement), isLimit, set })
      }
    }
  }
  const isOfRoot = identities.some(({ isOwnedByRoot }) => isOwnedByRoot === true)
  const limits = identities.flatMap(policies => policies.limits ?? [])
  for (const { granted, isOwnedByRoot } of identities) if (isOwnedByRoot !== true) look(granted, false)
  if (evaluation.isS3 && !isOfRoot) {
    for (const { policies, blockPublicAccess } of buckets) {
      evaluation.blocksPublic = request.blockPublicAccess === true || blockPublicAccess === true
      look(policies, false)
    }
  }
  for (const limit of limits) look(limit, true)
  const evaluated = looked.map(({ isLimit: _, set: __, ...statement }) => statement)

  const deny = looked.findIndex(({ effect, matched }) => matched && effect === 'Deny')
  if (deny >= 0) {
    return outcome(
      'explicit-deny',
      `${nameOf(evaluated[deny])} denies it.`,
      evaluated[deny].source,
      evaluated[deny],
      evaluated,
    )
  }
  if (ruled.decision?.effect === 'deny') {
    return ruleOutcome('explicit-deny', `${nameOfRule(ruled.decision.rule)} denies it.`, ruled.decision, evaluated)
  }
  const allow = looked.findIndex(({ effect, isLimit, matched, isBlocked }) => {
    return matched && effect === 'Allow' && !isLimit && !isBlocked
  })
  if (allowed) {
    if (allow < 0 && ruled.decision !== undefined) {
      return ruleOutcome('allow', `${nameOfRule(ruled.decision.rule)} allows it.`, ruled.decision, evaluated)
    }
    if (allow < 0) return outcome('allow', 'The access key belongs to root.', 'root', undefined, evaluated)
    return outcome(
      'allow',
      `${nameOf(evaluated[allow])} allows it.`,
      evaluated[allow].source,
      evaluated[allow],
      evaluated,
    )
  }
  if (allow >= 0 || isOfRoot || ruled.decision !== undefined) {
    const reason = 'The policy embedded in the access key does not allow it.'
    return outcome('implicit-deny', reason, 'embedded-policy', undefined, evaluated)
  }
  const blocked = evaluated.find(({ isBlocked }) => isBlocked)
  if (blocked !== undefined) {
    const reason = `${nameOf(blocked)} allows it to everybody, but public access is blocked.`
    return outcome('implicit-deny', reason, 'block-public', blocked, evaluated)
  }
  if (ruled.blocked !== undefined) {
    const reason = `${nameOfRule(ruled.blocked)} allows it to everybody, but public access is blocked.`
    return { ...outcome('implicit-deny', reason, 'block-public', undefined, evaluated), rule: ruled.blocked }
  }
  const reason =
    rules.length > 0
      ? 'No policy and no access rule allows it.'
      : evaluated.length === 0
        ? 'No policy applies.'
        : 'No statement allows it.'
  return outcome('implicit-deny', reason, 'none', undefined, evaluated)
}

function outcome(
  decision: SimulationDecision,
  reason: string,
  source: SimulationSource,
  statement: EvaluatedStatement | undefined,
  evaluated: readonly EvaluatedStatement[],
): Simulation {
  const { policyName = '', group = '' } = statement ?? {}
  const allowed = decision === 'allow'
  return { allowed, decision, reason, source, policyName, group, statement, evaluated, rule: undefined }
}

function ruleOutcome(
  decision: SimulationDecision,
  reason: string,
  { rule }: RuleDecision,
  evaluated: readonly EvaluatedStatement[],
): Simulation {
  return { ...outcome(decision, reason, 'access-rule', undefined, evaluated), rule }
}

const nameOfRule = (id: string): string => `The access rule "${id}"`

/** The decision of the bucket's rules. Rules do not apply to access keys of root, and apply to `s3:` actions only. A deny wins. */
function askRules(
  evaluation: Evaluation,
  identities: readonly IdentityPolicies[],
  rules: readonly BucketRules[],
): { readonly decision?: RuleDecision; readonly blocked?: string } {
  if (!evaluation.isS3 || identities.some(({ isOwnedByRoot }) => isOwnedByRoot === true)) return {}
  const decisions = rules.flatMap(one => one.decide(evaluation) ?? [])
  const decision = decisions.find(({ effect }) => effect === 'deny') ?? decisions[0]
  return { decision, blocked: rules.map(one => one.blockedBy(evaluation)).find(rule => rule !== undefined) }
}

function nameOf({ source, policyName, group, index, sid }: EvaluatedStatement): string {
  const statement = sid === '' ? `Statement ${index}` : `Statement ${index} (${sid})`
  switch (source) {
    case 'bucket-policy':
      return `${statement} of the bucket policy`
    case 'acl':
      return 'The access control list'
    case 'embedded-policy':
      return `${statement} of the policy embedded in the access key`
    case 'group-policy':
      return `${statement} of the policy "${policyName}" of the group "${group}"`
  }
  return `${statement} of the policy "${policyName}"`
}

function lookAt(
  evaluation: Evaluation,
  entry: ActionEntry | undefined,
  action: string,
  { source, name = '', group = '' }: AttachedPolicy,
  statement: Statement,
): EvaluatedStatement {
  const { index, sid, effect, actions, principals, resources, line, column, document, isPublic } = statement
  const isAbout = entry === undefined ? actions.hasUnknown(action) : actions.has(entry)
  let mismatch: EvaluatedStatement['mismatch']
  let conditions: readonly EvaluatedCondition[] = []
  if (principals !== undefined && !principals.matches(evaluation.identity)) mismatch = 'principal'
  else if (!isAbout) mismatch = 'action'
  else if (resources !== undefined && !resources.matches(evaluation)) mismatch = 'resource'
  else {
    conditions = statement.conditions.map(condition =>
      lookAtCondition(evaluation, condition, statement.effect === 'Deny'),
    )
    if (conditions.some(({ matched }) => !matched)) mismatch = 'condition'
  }
  const matched = mismatch === undefined
  return {
    source,
    policyName: name,
    group,
    index,
    sid,
    effect,
    matched,
    mismatch,
    statement: document,
    line,
    column,
    conditions,
    isBlocked: matched && isPublic && evaluation.blocksPublic,
  }
}

function lookAtCondition(evaluation: Evaluation, condition: Condition, isDeny: boolean): EvaluatedCondition {
  return {
    operator: condition.operatorName,
    key: condition.keyName,
    values: evaluation.values(condition.key) ?? [],
    matched: condition.holds(evaluation, isDeny),
  }
}
