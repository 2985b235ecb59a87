/**
 * The decision. In this order:
 *
 * 1. Root may do everything.
 * 2. Whatever denies wins: policies of the user, of its groups, of the bucket, of the access key.
 * 3. Somebody must allow: a policy of the user or its groups, or of the bucket, or an access control list.
 * 4. Each limit (the policy embedded in an access key, a session's) must allow too.
 *
 * Anonymous callers have the bucket's policy and the access control lists alone, and these govern `s3:` actions alone.
 */
import type { Identity } from 'svc/plugins/iam/api'
import type { AccessRequest, BucketPolicies, ConditionLookup, ConditionRecord, IdentityPolicies } from './api.ts'
import type { ActionEntry } from './catalogue.ts'
import type { PolicySet, Relevant } from './policy-set.ts'
import { isPrincipalKey, principalValues } from './principal-values.ts'
import type { Statement, StatementRequest } from './statement.ts'

/** Keys by which a listing says which part of a bucket it wants. */
const partKeys: ReadonlySet<string> = new Set(['s3:prefix', 's3:delimiter', 's3:max-keys'])

const noRecord: ConditionRecord = Object.freeze({})

/** A request on its way through the statements. One object serves many requests, one after the other. */
export class Evaluation implements StatementRequest {
  identity: Identity | undefined = undefined
  bucket = ''
  key: string | undefined = undefined
  blocksPublic = false
  /** Asks whether some listing of a part is allowed: conditions on the part are taken as they would have to be. */
  isPartial = false
  /** Bucket policies have a say. */
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

  /** Lets go of the request. */
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
    this.#conditions ??= this.#request?.conditions?.() ?? noRecord
    const conditions = this.#conditions
    if (typeof conditions.get === 'function') return (conditions as ConditionLookup).get(key)
    return Object.hasOwn(conditions, key) ? (conditions as ConditionRecord)[key] : undefined
  }

  /** Takes one source's policies of the caller into account; false when they deny, which is final. Before any bucket. */
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

  /** Takes one source's policies of the bucket into account; false when they deny. Root's keys have their limits alone. */
  askBucket({ policies, blockPublicAccess }: BucketPolicies): boolean {
    if (this.#isOfRoot || !this.isS3) return true
    const isBlocked = this.blocksPublic
    this.blocksPublic ||= blockPublicAccess === true
    const isUndenied = this.#ask(policies)
    this.blocksPublic = isBlocked
    return isUndenied
  }

  /** When everybody was asked and nobody denied. */
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

  /** Whether a statement that is about the action is about the rest of the request, too. */
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

/** The decision for policies that are at hand. */
export function decide(
  evaluation: Evaluation,
  identities: readonly IdentityPolicies[],
  buckets: readonly BucketPolicies[],
): boolean {
  for (const policies of identities) if (!evaluation.askIdentity(policies)) return false
  for (const policies of buckets) if (!evaluation.askBucket(policies)) return false
  return evaluation.isAllowed
}
