/** The extension points: kinds of providers, and users of providers. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const dnsPoints = {
  'dns.provider': {
    cardinality: 'many',
    schema: Type.Object(
      {
        description: Type.String(),
        settings: Type.Object({}),
        validate: Type.Optional(method),
        connect: method,
      },
      { description: 'A kind of DNS provider; its id is the `type` of the providers that operators configure.' },
    ),
  },
  'dns.user': {
    cardinality: 'many',
    schema: Type.Object(
      { uses: method },
      { description: 'Tells which of its documents name DNS providers, which therefore are not deleted.' },
    ),
  },
} as const
