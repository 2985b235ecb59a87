import { type Static, Type } from 'typebox'

export const EncryptionConfig = Type.Object({
  allowsInsecureCustomerKeys: Type.Boolean({
    variable: 'SVC_SSEC_ALLOW_INSECURE',
    environmentOnly: true,
    default: false,
    description:
      'Accepts keys of customers (SSE-C) over plain HTTP, where everybody on the network path can read them. For tests only.',
  }),
})

export type EncryptionConfig = Static<typeof EncryptionConfig>
