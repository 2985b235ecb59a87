/** What keeps keys. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const kmsPoints = {
  'kms.backend': {
    cardinality: 'many',
    schema: Type.Object(
      {
        isConfigured: Type.Boolean(),
        kind: Type.Enum(['local', 'remote']),
        opensOnly: Type.Optional(Type.Boolean()),
        create: method,
      },
      { description: 'What seals and opens keys; of those that are configured at most one is remote.' },
    ),
  },
} as const
