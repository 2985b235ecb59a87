import { Type } from 'typebox'

export const keyGroupPoints = {
  'keyGroups.user': {
    cardinality: 'many',
    schema: Type.Object(
      { uses: Type.Function([], Type.Unknown()) },
      { description: 'Tells which of its documents name key groups, which therefore are not deleted.' },
    ),
  },
} as const
