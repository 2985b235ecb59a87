/**
 * Decides whether a caller other than root may perform an action on a resource. policy.ts allows root everything before.
 *
 * 1. If any deny statement matches, the request is refused. Deny statements are in the policies of the user, of its groups and of the
 *    bucket, in rules of the bucket, and in limits.
 * 2. At least one of these must allow the request: a policy of the user, of its groups or of the bucket, a rule of the bucket, or an
 *    access control list (which is read as policies of the bucket). If public access is blocked, public allow statements are ignored.
 * 3. Each limit (the policy embedded in an access key, the policy of a session) must allow the request, too.
 *
 * Policies and rules of buckets apply to `s3:` actions only. An anonymous caller has no policies of its own and no limits. An access key
 * of root has only its limits: no policy and no rule of a bucket applies to it.
 *
 * The code asks source by source: the caller's policies and limits, the bucket's policies, its rules. A deny is final at once.
 */
import type { Identity } from 'svc/plugins/iam/api'
import type {
  AccessRequest,
  BucketPolicies,
  BucketRules,
  ConditionLookup,
  ConditionRecord,
  IdentityPolicies,
  RuleRequest,
} from './api.ts'
import type { ActionEntry } from './catalogue.ts'
import type { PolicySet, Relevant } from './policy-set.ts'
import { isPrincipalKey, principalValues } from './principal-values.ts'
import type { RequestFacts } from './request-conditions.ts'
import type { Statement, StatementRequest } from './statement.ts'

/** Condition keys that select the part of a bucket that is listed. */
const partKeys: ReadonlySet<string> = new Set(['s3:prefix', 's3:delimiter', 's3:max-keys'])

const noRecord: ConditionRecord = Object.freeze({})

/** The state of one decision. The same object is reused for many requests, one after the other. */
export class Evaluation implements StatementRequest, RuleRequest {
  identity: Identity | undefined = undefined
  bucket = ''
  key: string | undefined = undefined
  blocksPublic = false
  /**
   * If true, the question is whether the caller may list any part of the bucket. Conditions on the listed part are assumed to hold in
   * allow statements and not to hold in deny statements.
   */
  isPartial = false
  /** Whether policies and rules of buckets apply to the action. */
  isS3 = false
  #hasAllow = false
  #isLimited = false
  #isOfRoot = false
  #request: AccessRequest | undefined = undefined
  #entry: ActionEntry | undefined = undefined
  #subject: string | undefined = undefined
  #conditions: ConditionRecord | ConditionLookup | undefined = undefined

  begin(request: AccessRequest, entry: ActionEntry | undefined): void {
    const { bucket = '', key = '' } = request
    this.#request = request
    this.#entry = entry
    this.identity = request.identity
    this.blocksPublic = request.blockPublicAccess === true
    this.isS3 = entry === undefined ? request.action.startsWith('s3:') : entry.isS3
    this.#hasAllow = false
    this.#isLimited = false
    this.#isOfRoot = false
    const level = entry === undefined ? undefined : entry.action.level
    if (level === 'object' || (level === undefined && key !== '')) {
      this.bucket = bucket
      this.key = key
    } else {
      this.bucket = level === 'account' || bucket === '' ? '*' : bucket
      this.key = undefined
    }
  }

  /** Drops all references to the request. */
  end(): void {
    this.#request = undefined
    this.#entry = undefined
    this.#subject = undefined
    this.#conditions = undefined
    this.identity = undefined
  }

  get subject(): string {
    this.#subject ??= this.key === undefined ? this.bucket : `${this.bucket}/${this.key}`
    return this.#subject
  }

  values(key: string): readonly string[] | undefined {
    if (isPrincipalKey(key)) return principalValues(this.identity, key)
    const conditions = this.#known()
    if (typeof conditions.get === 'function') return (conditions as ConditionLookup).get(key)
    return Object.hasOwn(conditions, key) ? (conditions as ConditionRecord)[key] : undefined
  }

  get action(): string {
    return this.#entry === undefined ? this.#request!.action : this.#entry.action.action
  }

  get facts(): RequestFacts | undefined {
    const conditions = this.#known()
    return typeof conditions.get === 'function' ? (conditions as ConditionLookup).facts : undefined
  }

  #known(): ConditionRecord | ConditionLookup {
    this.#conditions ??= this.#request?.conditions?.() ?? noRecord
    return this.#conditions
  }

  /**
   * Evaluates the caller's policies from one source. Returns false if one of them denies; the decision is then final. Must be called
   * before any `askBucket`.
   */
  askIdentity({ granted, limits, isOwnedByRoot }: IdentityPolicies): boolean {
    if (isOwnedByRoot === true) {
      this.#isOfRoot = true
      this.#hasAllow = true
    } else if (!this.#ask(granted)) return false
    if (limits === undefined) return true
    for (const limit of limits) {
      const relevant = this.about(limit)
      if (this.isDeniedBy(relevant)) return false
      this.#isLimited ||= !this.isAllowedBy(relevant)
    }
    return true
  }

  /**
   * Evaluates the bucket's policies from one source. Returns false if one of them denies. Bucket policies do not apply to access keys
   * of root; only the limits of such a key apply.
   */
  askBucket({ policies, blockPublicAccess }: BucketPolicies): boolean {
    if (this.#isOfRoot || !this.isS3) return true
    const isBlocked = this.blocksPublic
    this.blocksPublic ||= blockPublicAccess === true
    const isUndenied = this.#ask(policies)
    this.blocksPublic = isBlocked
    return isUndenied
  }

  /** Evaluates the rules of the bucket. Returns false if a rule denies. */
  askRules(rules: BucketRules): boolean {
    if (this.#isOfRoot || !this.isS3) return true
    const decision = rules.decide(this)
    if (decision === undefined) return true
    if (decision.effect === 'deny') return false
    this.#hasAllow = true
    return true
  }

  /** The decision after all policies were evaluated and none denied. */
  get isAllowed(): boolean {
    return this.#hasAllow && !this.#isLimited
  }

  #ask(set: PolicySet): boolean {
    const relevant = this.about(set)
    if (this.isDeniedBy(relevant)) return false
    this.#hasAllow ||= this.isAllowedBy(relevant)
    return true
  }

  about(set: PolicySet): Relevant {
    return this.#entry === undefined ? set.aboutUnknown(this.#request!.action) : set.about(this.#entry)
  }

  isDeniedBy({ denies }: Relevant): boolean {
    for (const statement of denies) if (this.matches(statement)) return true
    return false
  }

  isAllowedBy({ allows }: Relevant): boolean {
    for (const statement of allows) {
      if (statement.isPublic && this.blocksPublic) continue
      if (this.matches(statement)) return true
    }
    return false
  }

  /** Whether a statement about the action also matches the caller, the resource and the conditions of the request. */
  matches(statement: Statement): boolean {
    const { principals, resources, conditions } = statement
    if (principals !== undefined && !principals.matches(this.identity)) return false
    if (resources !== undefined && !resources.matches(this)) return false
    for (const condition of conditions) {
      if (this.isPartial && partKeys.has(condition.key)) {
        if (statement.effect === 'Deny') return false
      } else if (!condition.holds(this, statement.effect === 'Deny')) return false
    }
    return true
  }
}

/** The decision for given policies. */
export function decide(
  evaluation: Evaluation,
  identities: readonly IdentityPolicies[],
  buckets: readonly BucketPolicies[],
  rules: readonly BucketRules[],
): boolean {
  for (const policies of identities) if (!evaluation.askIdentity(policies)) return false
  for (const policies of buckets) if (!evaluation.askBucket(policies)) return false
  for (const one of rules) if (!evaluation.askRules(one)) return false
  return evaluation.isAllowed
}
