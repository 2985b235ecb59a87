import { type Static, Type } from 'typebox'

const mode = Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
  default: 'reject',
  description:
    'While public access is blocked: `reject` refuses to store public policies, rules and access control lists, `ignore` stores them. Until the setting `block_public_mode` of `access` is set.',
  variable: 'SVC_BLOCK_PUBLIC_ACCESS_MODE',
})

export const ObjectOwnershipConfig = Type.Object({
  blockPublicAccess: Type.Boolean({
    default: false,
    description:
      'Block public access in every bucket: policies and access rules that allow everybody have no effect, nor have access control lists. Until the setting `block_public` of `access` is set.',
    variable: 'SVC_BLOCK_PUBLIC_ACCESS',
  }),
  blockPublicAccessMode: mode,
})

export type ObjectOwnershipConfig = Static<typeof ObjectOwnershipConfig>
