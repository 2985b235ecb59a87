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
    flags: Type.Array(Type.String(), {
      description:
        "The flags that are set of the bucket's public access block, as S3 names them; empty for the cluster.",
    }),
    cluster: Type.Boolean({ description: 'Public access is blocked in the whole cluster.' }),
    effective: Type.Boolean({ description: 'It is blocked by the cluster or by the bucket.' }),
  },
  { $id: 'BlockPublicAccess' },
)

const flagNames = [
  ['blockPublicAcls', 'BlockPublicAcls'],
  ['ignorePublicAcls', 'IgnorePublicAcls'],
  ['blockPublicPolicy', 'BlockPublicPolicy'],
  ['restrictPublicBuckets', 'RestrictPublicBuckets'],
] as const

export async function describeBlock(
  bucket: string,
  objectOwnership: ObjectOwnershipService,
): Promise<Static<typeof BlockPublicAccess>> {
  const own = await objectOwnership.ownBlocks(bucket)
  const flags = flagNames.flatMap(([field, name]) => (own[field] ? [name] : []))
  const enabled = flags.length === flagNames.length
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  return { bucket, enabled, flags, mode, cluster: isBlocked, effective: isBlocked || enabled }
}

export async function describeClusterBlock(
  objectOwnership: ObjectOwnershipService,
): Promise<Static<typeof BlockPublicAccess>> {
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  return { bucket: '', enabled: isBlocked, flags: [], mode, cluster: isBlocked, effective: isBlocked }
}
