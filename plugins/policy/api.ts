/**
 * Authorization: may this identity do this action on this resource? One engine evaluates the policies of users, groups, access keys and
 * buckets, for the actions of S3 and of the Admin API. Policies are compiled once; decisions are synchronous.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { ActionDeclaration, PolicyAction } from './catalogue.ts'
import type { CompiledPolicy, CompileOptions, CompileResult, StatementDocument } from './document.ts'
import type { AttachedPolicy, AttachedSource, PolicySet } from './policy-set.ts'
import type { RequestFacts } from './request-conditions.ts'
import type { Simulation } from './simulation.ts'

export type { ActionLevel, ActionStatus } from './actions.ts'
export { type Address, type AddressBlock, isInBlock, parseAddress, parseBlock } from './addresses.ts'
export { builtInPolicies } from './built-in-policies.ts'
export { type ActionDeclaration, createCatalogue, type PolicyAction } from './catalogue.ts'
export { type ConditionKey, conditionKeys } from './condition-keys.ts'
export { keyNormalizationSetting, keyNormalizerOf, type NormalizeKey } from './config.ts'
export { type DisclosedSimulation, type DisclosedSource, type Disclosure, disclose } from './disclosure.ts'
export type {
  CompiledPolicy,
  CompileOptions,
  CompileResult,
  PolicyDocument,
  PolicyKind,
  StatementDocument,
} from './document.ts'
export { parseInstant } from './instant.ts'
export { kmsKeyIdOf } from './kms-key-id.ts'
export { operators } from './operators.ts'
export type { AttachedPolicy, AttachedSource, PolicySet } from './policy-set.ts'
export { createPrepared, type Prepared } from './prepared.ts'
export { isPrincipalKey, principalValues, userNameOf } from './principal-values.ts'
export type { PolicyProblem } from './problems.ts'
export { encryptionAsked, type RequestEncryption, type RequestFacts, requestConditions } from './request-conditions.ts'
export type { EvaluatedStatement, Simulation, SimulationDecision, SimulationSource } from './simulation.ts'
export { plainPattern, type WildcardPattern } from './wildcards.ts'

/** Condition keys in lower case (`s3:prefix`, `aws:sourceip`) with their values. */
export type ConditionRecord = Readonly<Record<string, readonly string[]>>

/** Condition values that are computed on demand: a `ReadonlyMap`, or the result of `requestConditions`. */
export interface ConditionLookup {
  get(key: string): readonly string[] | undefined
  /** What the values are made of, for rules that ask for more than condition keys. Absent: nothing else is known. */
  readonly facts?: RequestFacts
}

export interface AccessRequest {
  /** Undefined for an anonymous request. */
  readonly identity: Identity | undefined
  /** `s3:GetObject`, `admin:ServerInfo`… */
  readonly action: string
  /** Empty or absent for actions on the server. */
  readonly bucket?: string
  readonly key?: string
  /**
   * Called at most once, when a statement with conditions is reached. The engine itself has the keys that depend on the identity
   * (`aws:username`, `aws:groups`, `jwt:…` and others); they are not looked up here.
   */
  readonly conditions?: () => ConditionRecord | ConditionLookup
  /** Statements that allow access to everybody are ignored. */
  readonly blockPublicAccess?: boolean
  /**
   * The canned access control list of the object, if the caller has fetched it: see `PolicyService.asksObjectAcl`. Called at most once, and
   * only if access control lists of objects count in the bucket.
   */
  readonly objectAcl?: () => string | undefined
  /** Replaces the bucket policies of the sources: for the question of what these policies would allow. */
  readonly bucketPolicies?: BucketPolicies
}

/** A request whose decision is explained, not made. */
export interface SimulatedRequest extends AccessRequest {
  /** Replaces the rules of the sources: for the question of what these rules would decide. */
  readonly bucketRules?: BucketRules
}

/** The policies of an identity, and the policies that limit it. Created once per identity and kept, not per request. */
export interface IdentityPolicies {
  /** Policies of the user and of its enabled groups. */
  readonly granted: PolicySet
  /** The limits of a session and of an access key: each of them must also allow the request, and may deny it. */
  readonly limits?: readonly PolicySet[]
  /** Whether the identity is an access key of root. Then `granted`, bucket policies and rules are ignored, and only `limits` count. */
  readonly isOwnedByRoot?: boolean
}

export interface BucketPolicies {
  readonly policies: PolicySet
  /** For the bucket or the whole server: statements of these policies that allow access to everybody are ignored. */
  readonly blockPublicAccess?: boolean
}

/** A request as rules of a bucket see it. It serves one decision: nothing of it may be kept. */
export interface RuleRequest {
  /** Undefined for an anonymous request. */
  readonly identity: Identity | undefined
  /** As the catalogue spells it. */
  readonly action: string
  /** In the form of SVC_KEY_NORMALIZATION; undefined for actions on the bucket itself. */
  readonly key: string | undefined
  /** Asks whether a listing of some part of the bucket is allowed, whatever its prefix. */
  readonly isPartial: boolean
  /** Whether public access is blocked: rules that allow something to everybody are ignored. */
  readonly blocksPublic: boolean
  /** Undefined if only the condition keys of the request are known. */
  readonly facts: RequestFacts | undefined
  /** Of a condition key, in lower case. */
  values(key: string): readonly string[] | undefined
}

export interface RuleDecision {
  readonly effect: 'allow' | 'deny'
  /** The id of the rule that decided. */
  readonly rule: string
}

/**
 * Rules of a bucket that are no policy document. A deny or an allow of a rule has the same effect as one of the bucket's policy: limits of
 * access keys still hold, and rules do not apply to access keys of root.
 */
export interface BucketRules {
  /** Whether a rule allows something to everybody at present, and public access is not blocked. */
  isPublicNow(): boolean
  /** Undefined if no rule applies to this request. */
  decide(request: RuleRequest): RuleDecision | undefined
  /** The rule that would allow the request to everybody if public access were not blocked; for reasons and audit records. */
  blockedBy(request: RuleRequest): string | undefined
}

/**
 * Knows policies of callers and of buckets. Both functions are called for every request of a caller other than root: they look up prepared
 * values in memory, and neither wait nor throw. The policies of all sources are combined.
 */
export interface PolicySource {
  /**
   * Makes the answers of `bucketPolicies` include every change that was acknowledged before this call. Called once for each bucket of a
   * request of a caller other than root, before the first decision. Rejects if the policies cannot be read.
   */
  prepare?(bucket: string): MaybePromise<void>
  identityPolicies?(identity: Identity): IdentityPolicies | undefined
  bucketPolicies?(bucket: string): BucketPolicies | undefined
  /** Undefined if the bucket has none. */
  bucketRules?(bucket: string): BucketRules | undefined
  /**
   * The policies that stand for the access control list of an object in this bucket, by the list's name. Undefined if such lists do not
   * count.
   */
  objectPolicies?(bucket: string): ReadonlyMap<string, BucketPolicies> | undefined
}

/** Policies that replace those of the sources. */
export interface RequestPolicies {
  readonly identity?: IdentityPolicies
  readonly bucket?: BucketPolicies
}

/** A statement that allows something to everybody. */
export interface PublicStatement {
  readonly source: AttachedSource
  /** Index in its document, from 0. */
  readonly index: number
  /** Empty where it has none. */
  readonly sid: string
  /** Of the catalogue, in its order: those that the statement allows on one of its resources. */
  readonly actions: readonly string[]
  readonly document: StatementDocument
  /** It has no effect, because public access is blocked. */
  readonly isBlocked: boolean
}

export interface PermissionsRequest {
  readonly identity: Identity | undefined
  /** Absent for actions on the server. */
  readonly bucket?: string
  readonly prefix?: string
  readonly conditions?: AccessRequest['conditions']
}

/** Names of actions, in the order of the catalogue. */
export interface Permissions {
  readonly allowed: readonly string[]
  readonly denied: readonly string[]
}

export interface PolicyService {
  /**
   * To be awaited, if it returns a promise, before the first question about a bucket: then the answers include every change that was
   * acknowledged before this call. Never a promise in the main thread. Not needed for root.
   */
  prepare(bucket: string): MaybePromise<void>
  isAllowed(request: AccessRequest): boolean
  /** Like `isAllowed`, with the given policies instead of those of the sources. */
  evaluate(request: AccessRequest, policies: RequestPolicies): boolean
  /** The decision of `isAllowed` (or of `evaluate`, with `policies`), with its reason and every statement that was evaluated. */
  simulate(request: SimulatedRequest, policies?: RequestPolicies): Simulation
  /** Tags for the audit record of a refused request: the rule of the bucket that denied it. Undefined if none did. */
  denialTags(request: AccessRequest): Readonly<Record<string, string>> | undefined
  /** Whether a listing of some part of the bucket is allowed, for suitable values of prefix, delimiter and size. */
  isAllowedInPart(request: AccessRequest): boolean
  /** Whether the bucket's policies, its rules or its access control list allow anything to everybody. */
  isPublic(bucket: string): boolean
  /** Whether the bucket's rules allow anything to everybody. */
  hasPublicRules(bucket: string): boolean
  /** The statements of the bucket's policies and of its access control list that allow something to everybody. */
  publicStatements(bucket: string): readonly PublicStatement[]
  /** The same of the policy of a bucket that need not be stored. */
  publicStatementsOf(policy: CompiledPolicy): readonly PublicStatement[]
  /** Whether access control lists of single objects count in the bucket. */
  countsObjectAcls(bucket: string): boolean
  /**
   * Whether a statement that may apply to this request has a condition on, or a variable of, a key with this prefix, in lower case. Facts
   * that are expensive to fetch, such as `s3:existingobjecttag/`, are needed only then.
   */
  mentions(request: AccessRequest, keyPrefix: string): boolean
  /** Whether the object's access control list could allow this request. If not, the caller need not fetch the list. */
  asksObjectAcl(request: AccessRequest): boolean
  /** The actions that the console may offer: active actions on the server, or on a bucket and everything under a prefix of it. */
  permissions(request: PermissionsRequest): Permissions
  /** Compiles text or an object. Never throws because of the document; the result has all of its problems. */
  compile(document: string | object, options: CompileOptions): CompileResult
  /** Policies that are evaluated together, in the order in which reasons name them. */
  combine(attached: readonly AttachedPolicy[]): PolicySet
  /** The catalogue: the engine's own actions and those of plugins. */
  actions(): readonly PolicyAction[]
  /** The compiled built-in policies, which every deployment has. */
  builtIn(): ReadonlyMap<string, CompiledPolicy>
}

declare module 'svc/kernel' {
  interface Services {
    policy: PolicyService
  }
  interface ExtensionPoints {
    /** Knows policies of callers and of buckets. */
    'policy.source': PolicySource
    /** An action of a plugin; the id of the contribution is its name (`admin:ManageTrash`). */
    'policy.action': ActionDeclaration
  }
}
