import type { ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
import { type Static, Type } from 'typebox'

export const BucketParameters = Type.Object({ bucket: Type.String({ minLength: 1, maxLength: 255 }) })

export const BlockPublicAccess = Type.Object(
  {
    bucket: Type.String({ description: 'Empty for the cluster.' }),
    enabled: Type.Boolean({
      description: 'Of a bucket: all four flags of its public access block are set. A single flag counts in S3 alone.',
    }),
    mode: Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
      description:
        "The cluster's: its block refuses to store public policies, rules and ACLs, or stores them without effect. A bucket's own block refuses.",
    }),
    cluster: Type.Boolean({ description: 'Public access is blocked in the whole cluster.' }),
    effective: Type.Boolean({ description: 'It is blocked by the cluster or by the bucket.' }),
  },
  { $id: 'BlockPublicAccess' },
)

export async function describeBlock(
  bucket: string,
  objectOwnership: ObjectOwnershipService,
): Promise<Static<typeof BlockPublicAccess>> {
  const own = await objectOwnership.ownBlocks(bucket)
  const enabled = own.blockPublicAcls && own.ignorePublicAcls && own.blockPublicPolicy && own.restrictPublicBuckets
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  return { bucket, enabled, mode, cluster: isBlocked, effective: isBlocked || enabled }
}

export async function describeClusterBlock(
  objectOwnership: ObjectOwnershipService,
): Promise<Static<typeof BlockPublicAccess>> {
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  return { bucket: '', enabled: isBlocked, mode, cluster: isBlocked, effective: isBlocked }
}
