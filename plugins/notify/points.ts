/** Where events may go. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const notifyPoints = {
  'notification.target': {
    cardinality: 'many',
    schema: Type.Object(
      { prepare: Type.Optional(method), knows: method, test: method },
      { description: 'A kind of destination that the rules of buckets may name by ARN.' },
    ),
  },
  'notify.target': {
    cardinality: 'many',
    schema: Type.Object(
      {
        description: Type.String({ minLength: 1 }),
        settings: Type.Object({ type: Type.Literal('object') }),
        validate: Type.Optional(method),
        endpoint: method,
        connect: method,
      },
      { description: 'A kind of target for events; its id makes the subsystem of its settings.' },
    ),
  },
} as const
