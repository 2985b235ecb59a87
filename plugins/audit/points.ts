/** Where audit records may go. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const auditPoints = {
  'audit.sink': {
    cardinality: 'many',
    schema: Type.Object(
      {
        description: Type.String({ minLength: 1 }),
        settings: Type.Object({ type: Type.Literal('object') }),
        validate: Type.Optional(method),
        endpoint: method,
        connect: method,
      },
      { description: 'A kind of target for audit records; its id makes the subsystem of its settings.' },
    ),
  },
} as const
