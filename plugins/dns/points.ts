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
      { usersOf: method },
      { description: 'Says which documents of its plugin use a DNS provider, which therefore cannot be deleted.' },
    ),
  },
} as const
