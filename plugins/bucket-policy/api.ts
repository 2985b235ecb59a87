/**
 * Bucket policies: stored as clients sent them, compiled once per change, and evaluated for every request except those of root.
 */

import type { MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { CompiledPolicy, CompileResult, RequestFacts } from 'svc/plugins/policy/api'
import type { Preconditions } from 'svc/plugins/store/api'

export interface BucketPolicyDocument {
  /** Byte for byte as the client sent it. */
  readonly text: string
  /** Without quotes; of the text. */
  readonly etag: string
  /** Undefined if the engine no longer accepts it: then everybody but root is denied everything. */
  readonly policy: CompiledPolicy | undefined
}

/** A document that cannot be read at all. It denies everything to everybody but root until it is replaced or deleted. */
export type UnreadableDocument = 'unreadable'

/** The caller checks that the bucket exists. Changes reject with `storeErrors`. */
export interface BucketPolicyService {
  /** Undefined if the bucket has none. */
  get(bucket: string): MaybePromise<BucketPolicyDocument | UnreadableDocument | undefined>
  /** Compiles a policy for this bucket, or returns its errors. At most 20 KiB. */
  compile(bucket: string, document: string | object): CompileResult
  /**
   * Stores a text that `compile` took, also in the place of a policy that cannot be read; `undefined` removes the policy. From then on
   * every thread decides by it. Resolves with the new ETag.
   */
  replace(bucket: string, text: string | undefined, preconditions?: Preconditions): Promise<string | undefined>
  /** Whether PutBucketPolicy refuses a public policy: because of the bucket's own public access block, or the cluster's. */
  refusesPublic(bucket: string): MaybePromise<boolean>
  /** Whether statements that allow everybody have no effect. */
  ignoresPublic(bucket: string): MaybePromise<boolean>
  /** Whether this caller could still replace the bucket's policy under the given one. */
  keepsAccess(identity: Identity | undefined, bucket: string, policy: CompiledPolicy, facts: RequestFacts): boolean
}

declare module 'svc/kernel' {
  interface Services {
    bucketPolicy: BucketPolicyService
  }
}
