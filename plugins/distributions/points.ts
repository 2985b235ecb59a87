/** The extension points of distributions. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const distributionPoints = {
  'distribution.mode': {
    cardinality: 'many',
    schema: Type.Object(
      { problems: method, compile: method },
      { description: 'How distributions of a mode answer; its id is the mode.' },
    ),
  },
} as const
