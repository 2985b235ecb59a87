/** The extension points for providers of authentication and for the directory of access keys. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const iamPoints = {
  'auth.anonymous': {
    cardinality: 'one',
    schema: Type.Function([], Type.Unknown(), {
      description: 'Returns the result for a request without credentials, with the form of its body.',
    }),
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
      { description: 'Verifies credentials of requests: the first provider that recognizes them decides.' },
    ),
  },
  'auth.throttle': {
    cardinality: 'one',
    schema: Type.Object(
      { guard: method, failed: method },
      { description: 'Counts wrong signatures, and refuses who sends too many.' },
    ),
  },
  'iam.directory': {
    cardinality: 'one',
    schema: Type.Object(
      { credentials: method, sessionCredentials: method, watchSecrets: method },
      { description: 'Credentials of all identities but root.' },
    ),
  },
} as const
