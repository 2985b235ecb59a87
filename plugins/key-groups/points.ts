import { Type } from 'typebox'

export const keyGroupPoints = {
  'keyGroups.user': {
    cardinality: 'many',
    schema: Type.Object(
      { useOf: Type.Function([], Type.Unknown()) },
      { description: 'Tells which of its documents name a key group.' },
    ),
  },
} as const
