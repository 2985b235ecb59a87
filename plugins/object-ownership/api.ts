/**
 * Ownership of objects, access control lists and blocked public access. Lists are off unless the bucket's ownership turns them on; the
 * owner of a bucket owns everything in it in any case. What a blocked bucket means for policies is for those who evaluate them; here is
 * the question.
 */
import type { MaybePromise } from 'svc/kernel'
import type { CannedAcl } from 'svc/plugins/objects/api'
import type { S3Request } from 'svc/plugins/s3/api'

export { etagOfBlock } from './block-etag.ts'

/** Each false where it was not said. Source: AWS S3 API reference, PublicAccessBlockConfiguration. */
export interface PublicAccessBlock {
  /** Public access control lists are refused when they are put. */
  readonly blockPublicAcls: boolean
  /** What access control lists allow does not count. */
  readonly ignorePublicAcls: boolean
  /** Bucket policies that allow something to everybody are refused when they are put. */
  readonly blockPublicPolicy: boolean
  /** What a bucket policy allows to everybody does not count. */
  readonly restrictPublicBuckets: boolean
}

/** The cluster's block of public access. `reject`: what is public is refused; `ignore`: it is stored and has no effect. */
export interface PublicAccessSetting {
  readonly isBlocked: boolean
  readonly mode: 'reject' | 'ignore'
}

/** Of a bucket whose access control lists are on. */
export interface AccessControl {
  readonly ownership: 'BucketOwnerPreferred' | 'ObjectWriter'
  /** Of the bucket itself; undefined for the owner's list. */
  readonly acl?: CannedAcl
}

/** Of buckets that exist; who asks makes sure of that. Changes reject with `storeErrors` (`bucket_not_found`). */
export interface ObjectOwnershipService {
  /**
   * What is blocked in a bucket, by itself or by the cluster: all false where nothing was said, all true where what was said cannot be
   * read. At once when this thread remembers it.
   */
  blocks(bucket: string): MaybePromise<PublicAccessBlock>
  /** The same without the cluster. */
  ownBlocks(bucket: string): MaybePromise<PublicAccessBlock>
  /** Undefined where nothing was said. */
  publicAccessBlock(bucket: string): MaybePromise<PublicAccessBlock | undefined>
  /** `undefined` takes back what was said. Rejects with `precondition_failed` where the block has another ETag than `ifMatch`. */
  setPublicAccessBlock(bucket: string, block: PublicAccessBlock | undefined, ifMatch?: string): Promise<void>
  /** The cluster's block. A setting that cannot be read blocks. */
  clusterPublicAccess(): MaybePromise<PublicAccessSetting>
  /** Of the setting: 32 hexadecimal digits. To be read before it, so that it is never newer. */
  clusterPublicAccessEtag(): Promise<string>
  /**
   * Changes the setting; what is undefined stays. In force with the next request, in every thread. Rejects with `precondition_failed` where
   * the setting has another ETag than `ifMatch`.
   */
  setClusterPublicAccess(change: Partial<PublicAccessSetting>, ifMatch?: string): Promise<void>
  /** Every bucket has ownership controls until somebody removes them, which turns lists neither on nor off. */
  hasOwnershipControls(bucket: string): MaybePromise<boolean>
  setOwnershipControls(bucket: string, present: boolean): Promise<void>
  /** Undefined where lists are off: BucketOwnerEnforced. */
  accessControl(bucket: string): MaybePromise<AccessControl | undefined>
  /**
   * Replaces it by what `change` makes of it, in one step. Rejects with what `change` throws; it may be called several times.
   */
  changeAccessControl(
    bucket: string,
    change: (former: AccessControl | undefined) => AccessControl | undefined,
  ): Promise<void>
  /** What CreateBucket asks for. Throws, or rejects, for what is refused. */
  readNewBucket(request: S3Request): MaybePromise<AccessControl | undefined>
}

declare module 'svc/kernel' {
  interface Services {
    objectOwnership: ObjectOwnershipService
  }
}
