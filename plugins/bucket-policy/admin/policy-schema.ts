import type { CompiledPolicy } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

export const BucketParameters = Type.Object({ bucket: Type.String({ minLength: 1, maxLength: 255 }) })

const Texts = Type.Union([Type.String(), Type.Array(Type.String())])
const Principal = Type.Union([Type.Literal('*'), Type.Record(Type.String(), Texts)])

const Statement = Type.Object({
  Sid: Type.Optional(Type.String()),
  Effect: Type.Union([Type.Literal('Allow'), Type.Literal('Deny')]),
  Principal: Type.Optional(Principal),
  NotPrincipal: Type.Optional(Principal),
  Action: Type.Optional(Texts),
  NotAction: Type.Optional(Texts),
  Resource: Type.Optional(Texts),
  NotResource: Type.Optional(Texts),
  Condition: Type.Optional(
    Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      description: 'Operator, then key, then values.',
    }),
  ),
})

export const PolicyDocument = Type.Object(
  { Version: Type.String(), Id: Type.Optional(Type.String()), Statement: Type.Array(Statement) },
  { $id: 'PolicyDocument' },
)

/** Accepts any JSON object: the policy engine validates it, because it reports line and column of errors. */
export const PolicyInput = Type.Object(
  {
    Version: Type.Optional(Type.Unknown({ description: '`2012-10-17`.' })),
    Id: Type.Optional(Type.Unknown()),
    Statement: Type.Optional(Type.Unknown({ description: 'One statement or a list of them.' })),
  },
  { $id: 'PolicyInput', description: 'A PolicyDocument.' },
)

export const bodyBytesMax = 20 * 1024

/** The same schema with mutable lists. */
export function describePolicy({ document }: CompiledPolicy): Static<typeof PolicyDocument> {
  return document as unknown as Static<typeof PolicyDocument>
}
