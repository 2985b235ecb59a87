/**
 * Ownership of objects, access control lists and blocked public access. Lists are off: the owner of a bucket owns everything in it.
 * What a blocked bucket means for policies is for those who evaluate them; here is the question.
 */
import type { MaybePromise } from 'svc/kernel'

/** Each false where it was not said. Source: AWS S3 API reference, PublicAccessBlockConfiguration. */
export interface PublicAccessBlock {
  /** Public ACLs are refused: there are none here, whatever this says. */
  readonly blockPublicAcls: boolean
  readonly ignorePublicAcls: boolean
  /** Bucket policies that allow something to everybody are refused when they are put. */
  readonly blockPublicPolicy: boolean
  /** What a bucket policy allows to everybody does not count. */
  readonly restrictPublicBuckets: boolean
}

/** Of buckets that exist; who asks makes sure of that. Changes reject with `storeErrors` (`bucket_not_found`). */
export interface ObjectOwnershipService {
  /**
   * What is blocked in a bucket: all false where nothing was said, all true where what was said cannot be read. At once when this
   * thread remembers it.
   */
  blocks(bucket: string): MaybePromise<PublicAccessBlock>
  /** Undefined where nothing was said. */
  publicAccessBlock(bucket: string): MaybePromise<PublicAccessBlock | undefined>
  /** `undefined` takes back what was said. */
  setPublicAccessBlock(bucket: string, block: PublicAccessBlock | undefined): Promise<void>
  /** Every bucket has ownership controls until somebody removes them, which turns no list on. */
  hasOwnershipControls(bucket: string): MaybePromise<boolean>
  setOwnershipControls(bucket: string, present: boolean): Promise<void>
}

declare module 'svc/kernel' {
  interface Services {
    objectOwnership: ObjectOwnershipService
  }
}
