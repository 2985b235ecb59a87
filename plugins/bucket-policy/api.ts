/**
 * Policies of buckets: stored as they were put, compiled once per change, and asked by the policy engine for every request of
 * somebody who is not root. Also whether public access is blocked in the whole cluster.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { CompiledPolicy, CompileResult, RequestFacts } from 'svc/plugins/policy/api'
import type { Preconditions } from 'svc/plugins/store/api'

export interface BucketPolicyDocument {
  /** Exactly as it was put. */
  readonly text: string
  /** Without quotes; of the text. */
  readonly etag: string
  /** Undefined where the engine no longer takes it: then it denies everything to everybody but root. */
  readonly policy: CompiledPolicy | undefined
}

/** A document that cannot be read at all. It denies everything to everybody but root until it is replaced or deleted. */
export type UnreadableDocument = 'unreadable'

/** What the whole cluster says of public access. `reject`: public policies are refused; `ignore`: they do not count. */
export interface PublicAccessSetting {
  readonly isBlocked: boolean
  readonly mode: 'reject' | 'ignore'
}

/** Of buckets that exist; who asks makes sure of that. Changes reject with `storeErrors`. */
export interface BucketPolicyService {
  /** Undefined where the bucket has none. */
  get(bucket: string): MaybePromise<BucketPolicyDocument | UnreadableDocument | undefined>
  /** What is wrong with a policy for this bucket, or the policy. At most 20 KiB. */
  compile(bucket: string, document: string | object): CompileResult
  /**
   * Stores a text that `compile` took, also in the place of a policy that cannot be read; `undefined` removes the policy. From then on
   * every thread decides by it. Resolves with the new ETag.
   */
  replace(bucket: string, text: string | undefined, preconditions?: Preconditions): Promise<string | undefined>
  /** Public policies are refused when they are put: by the bucket's own block or by the cluster's. */
  refusesPublic(bucket: string): MaybePromise<boolean>
  /** What a policy allows to everybody does not count. */
  ignoresPublic(bucket: string): MaybePromise<boolean>
  /** Whether this caller could still replace the policy of the bucket, were it this one. */
  keepsAccess(identity: Identity | undefined, bucket: string, policy: CompiledPolicy, facts: RequestFacts): boolean
  readonly publicAccess: PublicAccessSetting
}

declare module 'svc/kernel' {
  interface Services {
    bucketPolicy: BucketPolicyService
  }
}
