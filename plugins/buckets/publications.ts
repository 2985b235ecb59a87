/** What distributions do with a bucket. */
import type { DistributionsService } from 'svc/plugins/distributions/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import { objectErrors } from 'svc/plugins/objects/api'

const namesMax = 5

export interface Publications {
  /** Tells of each bucket of a list whether everybody sees objects of it, as of now. */
  current(): Promise<(bucket: string) => Promise<boolean>>
  /**
   * Throws `BucketInUse`, which names the distributions that need the bucket. Asked before a bucket is emptied; its deletion is refused by the
   * commit itself.
   */
  requireNone(bucket: string): Promise<void>
}

/** `distributions` undefined: nothing is published. */
export function createPublications(
  distributions: Pick<DistributionsService, 'needing' | 'publishedBuckets'> | undefined,
  objectOwnership: Pick<ObjectOwnershipService, 'blocks'>,
): Publications {
  return {
    async current() {
      const published = await distributions?.publishedBuckets()
      return async bucket =>
        published?.has(bucket) === true && !(await objectOwnership.blocks(bucket)).restrictPublicBuckets
    },
    async requireNone(bucket) {
      const names = ((await distributions?.needing(bucket)) ?? []).map(({ id }) => id)
      if (names.length === 0) return
      const others = names.length > namesMax ? ` and ${names.length - namesMax} others` : ''
      const who = `${names.slice(0, namesMax).join(', ')}${others}`
      throw objectErrors.BucketInUse(
        names.length === 1
          ? `The distribution ${who} publishes the bucket: delete the distribution first, or give it another bucket.`
          : `The distributions ${who} publish the bucket: delete them first, or give them another bucket.`,
        { extra: { BucketName: bucket } },
      )
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** Used by the operations of this plugin only. */
    publications: Publications
  }
}
