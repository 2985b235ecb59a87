/** The extension points for destinations of events. */
import { targetKindSchema } from 'svc/plugins/delivery/api'
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
    schema: targetKindSchema('A kind of target for events; its id makes the subsystem of its settings.'),
  },
} as const
