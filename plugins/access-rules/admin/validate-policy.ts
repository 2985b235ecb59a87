import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { AccessOpening, openingOfStatement } from '../openings.ts'

const Problem = Type.Object(
  {
    statement: Type.Optional(Type.Integer({ description: 'From 0; absent for the document as a whole.' })),
    sid: Type.Optional(Type.String()),
    element: Type.String({ description: '`Action`, `Condition.StringLike.s3:prefix`; empty for the JSON itself.' }),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    message: Type.String(),
  },
  { $id: 'PolicyProblem' },
)

const ValidationRequest = Type.Object(
  {
    document: Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 })], {
      description: 'The policy, as an object or as text. For an object, lines refer to its JSON with an indent of 2.',
    }),
    bucket: Type.Optional(
      Type.String({ minLength: 1, maxLength: 63, description: 'Checks it as the policy of this bucket.' }),
    ),
  },
  { $id: 'ValidationRequest' },
)

const ValidationResult = Type.Object(
  {
    valid: Type.Boolean(),
    errors: Type.Array(Problem),
    warnings: Type.Array(Problem),
    openings: Type.Array(
      Type.Object({
        statement: Type.Integer({ description: 'Index of the statement, from 0.' }),
        opens: AccessOpening,
      }),
      {
        description:
          'What a valid policy of a bucket would let callers do without credentials, as `getAccessRules` says of the stored one. Whether public access is blocked does not count.',
      },
    ),
  },
  { $id: 'ValidationResult' },
)

export default defineAdminOperation({
  id: 'validatePolicy',
  method: 'POST',
  path: '/policies/validate',
  tag: 'policies',
  summary:
    'Checks a policy, without storing it, and returns its problems. The answer is 200 even if the policy has errors.',
  isSafe: true,
  authorize: 'self',
  body: ValidationRequest,
  // A document of 20 KiB as text in JSON, with every character escaped.
  bodyBytesMax: 128 * 1024,
  response: ValidationResult,
  uses: ['policy'],
  handle({ body: { document, bucket } }, { policy }) {
    const options = bucket === undefined ? { kind: 'identity' as const } : { kind: 'bucket' as const, bucket }
    const { policy: compiled, errors = [], warnings } = policy.compile(document, options)
    const open = compiled === undefined || bucket === undefined ? [] : policy.publicStatementsOf(compiled)
    return {
      valid: errors.length === 0,
      errors: [...errors],
      warnings: [...warnings],
      openings: open.map(each => ({ statement: each.index, opens: openingOfStatement(bucket!, each) })),
    }
  },
})
