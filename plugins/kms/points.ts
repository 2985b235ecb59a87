/** The extension points of key management. */
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
  'kms.user': {
    cardinality: 'many',
    schema: Type.Object(
      { name: Type.String({ minLength: 1 }), keyIds: method },
      {
        description:
          'A kind of stored settings that name keys for new objects: the status tells which of these are missing.',
      },
    ),
  },
} as const
