import { type Static, Type } from 'typebox'
import { blockProblem } from './addresses.ts'

export const HttpClientConfig = Type.Object({
  allowedNetworks: Type.Array(Type.String(), {
    variable: 'SVC_OUTBOUND_ALLOWED_NETWORKS',
    format: 'cidr-list',
    default: [],
    description:
      'Addresses and CIDR blocks that webhooks, brokers and the like may be at although they are link-local, of a metadata service, multicast or reserved.',
    check: (blocks: readonly string[]) => blocks.map(blockProblem).find(problem => problem !== undefined),
  }),
})

export type HttpClientConfig = Static<typeof HttpClientConfig>
