import { type Static, Type } from 'typebox'

export const bucketPolicyConfig = Type.Object({
  blockPublicAccess: Type.Boolean({
    default: false,
    description: 'Block public access in every bucket: what a bucket policy allows to everybody does not count.',
    variable: 'SVC_BLOCK_PUBLIC_ACCESS',
  }),
  blockPublicAccessMode: Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
    default: 'reject',
    description: 'While public access is blocked: `reject` refuses to store what would allow it, `ignore` stores it.',
    variable: 'SVC_BLOCK_PUBLIC_ACCESS_MODE',
  }),
})

export type BucketPolicyConfig = Static<typeof bucketPolicyConfig>
