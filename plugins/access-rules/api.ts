/**
 * Access rules: permissions of a bucket by key, caller and circumstances, beside policies. They are a source of decisions of
 * `policy`; other plugins read and change them through this face. The caller makes sure that the bucket exists.
 */
import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { RequestFacts } from 'svc/plugins/policy/api'
import type { Preconditions } from 'svc/plugins/store/api'
import type { AccessRouteFinder } from './points.ts'
import type { AccessRuleProblem } from './problems.ts'
import type { AccessRule } from './rule.ts'
import type { RuleSet } from './rule-set.ts'

export { accessRuleErrors } from './errors.ts'
export { encodedPattern, percentDecoded } from './percent-encoding.ts'
export type { AccessRoute, AccessRouteFinder, PublicRoute } from './points.ts'
export type { AccessRuleProblem } from './problems.ts'
export { widthOf } from './regexes.ts'
export { AccessRule, type AccessRuleConditions, type AccessRuleMatch } from './rule.ts'

export interface RulesOfBucket {
  /** In the order in which they were put. */
  readonly rules: readonly AccessRule[]
  /** The ETag without quotes; an empty list of rules has one, too. */
  readonly etag: string
  /** Undefined if there are no rules. */
  readonly updatedMs: number | undefined
  /** The user who stored the rules; undefined if there are none. */
  readonly updatedBy: string | undefined
  /** Compiled. Undefined where stored rules are no longer right: everything is denied then. */
  readonly set: RuleSet | undefined
}

export interface AccessRuleDenial {
  /** The id of the rule; empty where the rules cannot be read. */
  readonly rule: string
}

export interface AccessRulesService {
  /** Rejects with `document_unreadable`. */
  rules(bucket: string): MaybePromise<RulesOfBucket>
  /** Also replaces rules that cannot be read. Rejects with `accessRuleErrors` and `precondition_failed`; then nothing is stored. */
  replace(
    bucket: string,
    rules: readonly unknown[],
    updatedBy: string,
    preconditions?: Preconditions,
  ): Promise<RulesOfBucket>
  /** Returns what `replace` would return, with the current ETag of the bucket, and rejects like it. Stores nothing. */
  tryReplace(bucket: string, rules: readonly unknown[], preconditions?: Preconditions): Promise<RulesOfBucket>
  /** Compiles rules that are not stored, for tests. Throws `invalid_access_rule` and `too_many_access_rules`. */
  compile(rules: readonly unknown[]): RuleSet
  /** The problems of the rules; empty if there are none. The number of rules counts. */
  check(rules: readonly unknown[]): readonly AccessRuleProblem[]
  /** Whether anonymous access is blocked in this bucket. */
  ignoresPublic(bucket: string): MaybePromise<boolean>
  /**
   * For plugins that serve objects without policies: the rule that denies this to the caller, undefined if none does. Without an
   * identity the caller is anonymous. The key is in the form of SVC_KEY_NORMALIZATION. An allow of a lower number outranks a deny.
   * `facts` are asked for only where the bucket has rules.
   */
  denial(
    bucket: string,
    key: string,
    action: string,
    facts: () => RequestFacts,
    identity?: Identity,
  ): MaybePromise<AccessRuleDenial | undefined>
}

declare module 'svc/kernel' {
  interface Services {
    accessRules: AccessRulesService
  }
  interface ExtensionPoints {
    'accessRules.route': AccessRouteFinder
  }
}
