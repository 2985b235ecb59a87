/** What rules of buckets may name. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const bucketNotificationPoints = {
  'notification.target': {
    cardinality: 'many',
    schema: Type.Object(
      { prepare: Type.Optional(method), knows: method, test: method },
      { description: 'A kind of destination that the rules of buckets may name by ARN.' },
    ),
  },
} as const
