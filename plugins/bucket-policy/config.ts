import { type Static, Type } from 'typebox'

export const bucketPolicyConfig = Type.Object({
  blockPublicAccess: Type.Boolean({
    default: false,
    description:
      'Block public access in every bucket: statements of bucket policies that allow everybody have no effect, nor have access control lists.',
    variable: 'SVC_BLOCK_PUBLIC_ACCESS',
  }),
  blockPublicAccessMode: Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
    default: 'reject',
    description:
      'While public access is blocked: `reject` refuses to store public policies and access control lists, `ignore` stores them.',
    variable: 'SVC_BLOCK_PUBLIC_ACCESS_MODE',
  }),
})

export type BucketPolicyConfig = Static<typeof bucketPolicyConfig>
