import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())
const budget = { perSecond: Type.Number({ exclusiveMinimum: 0 }), burst: Type.Number({ minimum: 1 }) }

export const purgePoints = {
  'purge.webhook': {
    cardinality: 'many',
    schema: Type.Object(
      {
        description: Type.String({ minLength: 1 }),
        settings: Type.Object({ type: Type.Literal('object') }),
        limits: Type.Object({ ...budget, slow: Type.Optional(Type.Object(budget)) }),
        validate: Type.Optional(method),
        tagHeader: Type.Optional(method),
        connect: method,
      },
      { description: 'A kind of cache in front of the server; its id is the `type` of purge webhooks.' },
    ),
  },
} as const
