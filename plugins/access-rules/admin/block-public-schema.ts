import { replyWith } from 'svc/plugins/admin/api'
import { etagOfBlock, type ObjectOwnershipService } from 'svc/plugins/object-ownership/api'
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

type Block = Static<typeof BlockPublicAccess>

/** Any one of them reads the block, or changes it: of a bucket, and of the cluster. */
export const blockActions = {
  bucket: {
    read: ['s3:GetBucketPublicAccessBlock', 'admin:ManageAccessRules'],
    change: ['s3:PutBucketPublicAccessBlock', 'admin:ManageAccessRules'],
  },
  cluster: {
    read: ['s3:GetAccountPublicAccessBlock', 'admin:GetConfig', 'admin:ManageAccessRules'],
    change: ['s3:PutAccountPublicAccessBlock', 'admin:ConfigUpdate'],
  },
} as const

export async function replyWithBlock(bucket: string, objectOwnership: ObjectOwnershipService) {
  const own = await objectOwnership.ownBlocks(bucket)
  const flags = flagNames.flatMap(([field, name]) => (own[field] ? [name] : []))
  const enabled = flags.length === flagNames.length
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  const block: Block = { bucket, enabled, flags, mode, cluster: isBlocked, effective: isBlocked || enabled }
  return replyWith(block, { etag: etagOfBlock(own) })
}

export async function replyWithClusterBlock(objectOwnership: ObjectOwnershipService) {
  const etag = await objectOwnership.clusterPublicAccessEtag()
  const { isBlocked, mode } = await objectOwnership.clusterPublicAccess()
  const block: Block = { bucket: '', enabled: isBlocked, flags: [], mode, cluster: isBlocked, effective: isBlocked }
  return replyWith(block, { etag })
}
