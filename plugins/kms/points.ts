/** The extension point of key management. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const kmsPoints = {
  'kms.backend': {
    cardinality: 'many',
    schema: Type.Object(
      {
        isConfigured: Type.Boolean(),
        kind: Type.Enum(['local', 'remote']),
        unwrapsOnly: Type.Optional(Type.Boolean()),
        create: method,
      },
      { description: 'A backend that wraps and unwraps data keys. At most one configured backend may be remote.' },
    ),
  },
} as const
