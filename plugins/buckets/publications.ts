/** Whether everybody sees objects of a bucket through a distribution. */
import type { DistributionsService } from 'svc/plugins/distributions/api'
import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'

export interface Publications {
  /** Tells it of each bucket of a list, as of now. */
  current(): Promise<(bucket: string) => Promise<boolean>>
}

/** `distributions` undefined: nothing is published. */
export function createPublications(
  distributions: Pick<DistributionsService, 'publishedBuckets'> | undefined,
  objectOwnership: Pick<ObjectOwnershipService, 'blocks'>,
): Publications {
  return {
    async current() {
      const published = await distributions?.publishedBuckets()
      return async bucket =>
        published?.has(bucket) === true && !(await objectOwnership.blocks(bucket)).restrictPublicBuckets
    },
  }
}

declare module 'svc/kernel' {
  interface Services {
    /** Used by the operations of this plugin only. */
    publications: Publications
  }
}
