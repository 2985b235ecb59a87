/** The extension points of the policy engine. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const policyPoints = {
  'policy.source': {
    cardinality: 'many',
    schema: Type.Object(
      {
        prepare: Type.Optional(method),
        identityPolicies: Type.Optional(method),
        bucketPolicies: Type.Optional(method),
        bucketRules: Type.Optional(method),
        objectPolicies: Type.Optional(method),
      },
      { description: 'Knows the policies of callers and of buckets.' },
    ),
  },
  'policy.action': {
    cardinality: 'many',
    schema: Type.Object(
      { level: Type.Enum(['account', 'bucket', 'object', 'none']), description: Type.String({ minLength: 1 }) },
      { description: 'An action that policies may name; its id is the name of the action.' },
    ),
  },
} as const
