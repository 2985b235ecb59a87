/** Who has access keys beside root. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const iamPoints = {
  'iam.directory': {
    cardinality: 'one',
    schema: Type.Object(
      { credentials: method, sessionCredentials: method, verificationKey: method, watchSecrets: method },
      { description: 'Credentials of everybody but root.' },
    ),
  },
} as const
