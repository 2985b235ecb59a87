/**
 * Authorization: may this identity do this action on this resource? One engine for the policies of users, groups, access
 * keys and buckets, and for the actions of S3 and of the Admin API. Compiled once, asked synchronously.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { ActionDeclaration, PolicyAction } from './catalogue.ts'
import type { CompiledPolicy, CompileOptions, CompileResult } from './document.ts'
import type { AttachedPolicy, PolicySet } from './policy-set.ts'
import type { Simulation } from './simulation.ts'

export type { ActionLevel, ActionStatus } from './actions.ts'
export { builtInPolicies } from './built-in-policies.ts'
export { type ActionDeclaration, createCatalogue, type PolicyAction } from './catalogue.ts'
export { type ConditionKey, conditionKeys } from './condition-keys.ts'
export { keyNormalizationSetting } from './config.ts'
export type {
  CompiledPolicy,
  CompileOptions,
  CompileResult,
  PolicyDocument,
  PolicyKind,
  StatementDocument,
} from './document.ts'
export { kmsKeyIdOf } from './kms-key-id.ts'
export type { AttachedPolicy, AttachedSource, PolicySet } from './policy-set.ts'
export { createPrepared, type Prepared } from './prepared.ts'
export type { PolicyProblem } from './problems.ts'
export { encryptionAsked, type RequestEncryption, type RequestFacts, requestConditions } from './request-conditions.ts'
export type { EvaluatedStatement, Simulation, SimulationDecision, SimulationSource } from './simulation.ts'

/** Condition keys in lower case (`s3:prefix`, `aws:sourceip`) with their values. */
export type ConditionRecord = Readonly<Record<string, readonly string[]>>

/** The same, each value made when it is asked for: a `ReadonlyMap`, or what `requestConditions` makes. */
export interface ConditionLookup {
  get(key: string): readonly string[] | undefined
}

export interface AccessRequest {
  /** Undefined for an anonymous request. */
  readonly identity: Identity | undefined
  /** `s3:GetObject`, `admin:ServerInfo`… */
  readonly action: string
  /** Empty or absent: the action is done to the server. */
  readonly bucket?: string
  readonly key?: string
  /**
   * Called once, and only when a statement with conditions is reached. The keys that follow from the identity
   * (`aws:username`, `aws:groups`, `jwt:…` and their like) are the engine's business and are not looked for here.
   */
  readonly conditions?: () => ConditionRecord | ConditionLookup
  /** Statements that allow something to everybody do not count. */
  readonly blockPublicAccess?: boolean
  /**
   * The canned access control list of the object, where it was fetched: see `PolicyService.asksObjectAcl`. Called once, and only where
   * the lists of objects count in the bucket.
   */
  readonly objectAcl?: () => string | undefined
  /** Instead of what the sources know of the bucket: what would be allowed if these were its policies. */
  readonly bucketPolicies?: BucketPolicies
}

/** What somebody may do, and what limits it. Made once per identity and kept, not per request. */
export interface IdentityPolicies {
  /** Policies of the user and of its enabled groups. */
  readonly granted: PolicySet
  /** Of a session, of an access key: each must allow as well, and may deny. */
  readonly limits?: readonly PolicySet[]
  /** An access key of root: `granted` is not asked, no bucket can deny it anything, only `limits` count. */
  readonly isOwnedByRoot?: boolean
}

export interface BucketPolicies {
  readonly policies: PolicySet
  /** Of the bucket or of the whole server: what these policies allow to everybody does not count. */
  readonly blockPublicAccess?: boolean
}

/**
 * Who the policies of a request are. Both are asked on every request of somebody who is not root: they look something up
 * in memory, and neither wait nor throw. What several sources know is taken together.
 */
export interface PolicySource {
  /**
   * Brings what `bucketPolicies` answers from up to date: to every change that was acknowledged before. Called once for each
   * bucket of a request of somebody who is not root, before the first decision. Rejects where it cannot be known.
   */
  prepare?(bucket: string): MaybePromise<void>
  identityPolicies?(identity: Identity): IdentityPolicies | undefined
  bucketPolicies?(bucket: string): BucketPolicies | undefined
  /** What the list of an object in this bucket allows, by the list's name. Undefined where such lists do not count. */
  objectPolicies?(bucket: string): ReadonlyMap<string, BucketPolicies> | undefined
}

/** Policies named by the caller instead of by the sources. */
export interface RequestPolicies {
  readonly identity?: IdentityPolicies
  readonly bucket?: BucketPolicies
}

export interface PermissionsRequest {
  readonly identity: Identity | undefined
  /** Absent: actions on the server. */
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
   * To be waited for, where it is a promise, before the first question about a bucket: then answers count every change that
   * was acknowledged before this call. In the main thread it never is one. Superfluous for root.
   */
  prepare(bucket: string): MaybePromise<void>
  isAllowed(request: AccessRequest): boolean
  /** As `isAllowed`, for policies that are not, or not yet, those of the sources. */
  evaluate(request: AccessRequest, policies: RequestPolicies): boolean
  /** Why: the decision of `isAllowed` (or `evaluate`, with `policies`) and every statement that was looked at. */
  simulate(request: AccessRequest, policies?: RequestPolicies): Simulation
  /** Whether a listing of some part of the bucket is allowed, whatever conditions say of prefix, delimiter and size. */
  isAllowedInPart(request: AccessRequest): boolean
  /** Whether policies of the bucket, or its access control list, allow something in it to everybody. */
  isPublic(bucket: string): boolean
  /**
   * Whether a statement about this request has a condition on (or a variable of) a key that begins so, in lower case:
   * what is expensive to know, such as `s3:existingobjecttag/`, need be fetched only then.
   */
  mentions(request: AccessRequest, keyPrefix: string): boolean
  /** Whether the list of the object could allow this request: it need be fetched only then. */
  asksObjectAcl(request: AccessRequest): boolean
  /** What the console may offer: active actions on the server, or on a bucket and everything under a prefix of it. */
  permissions(request: PermissionsRequest): Permissions
  /** Text, or an object. Never throws on a document; what is wrong with it is in the result, all of it. */
  compile(document: string | object, options: CompileOptions): CompileResult
  /** Policies to be asked together, in the order in which reasons shall name them. */
  combine(attached: readonly AttachedPolicy[]): PolicySet
  /** The catalogue: its own actions and those that plugins add. */
  actions(): readonly PolicyAction[]
  /** The policies that every deployment has, compiled. */
  builtIn(): ReadonlyMap<string, CompiledPolicy>
}

declare module 'svc/kernel' {
  interface Services {
    policy: PolicyService
  }
  interface ExtensionPoints {
    /** Who the policies of a caller and of a bucket are. */
    'policy.source': PolicySource
    /** An action of a plugin, by its name as id (`admin:ManageTrash`). */
    'policy.action': ActionDeclaration
  }
}
