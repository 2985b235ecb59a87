/** Who turns credentials into principals, and who has access keys beside root. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const iamPoints = {
  'auth.anonymous': {
    cardinality: 'one',
    schema: Type.Function([], Type.Unknown(), { description: 'What a request without credentials says of its body.' }),
  },
  'auth.provider': {
    cardinality: 'many',
    schema: Type.Object(
      {
        before: Type.Optional(Type.Array(Type.String())),
        authenticate: method,
        authenticateForm: Type.Optional(method),
        authenticateDocument: Type.Optional(method),
      },
      { description: 'Turns credentials of requests into principals: the first that recognizes them decides.' },
    ),
  },
  'iam.directory': {
    cardinality: 'one',
    schema: Type.Object(
      { credentials: method, sessionCredentials: method, watchSecrets: method },
      { description: 'Credentials of everybody but root.' },
    ),
  },
} as const
