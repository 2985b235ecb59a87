/** What other plugins add to the Admin API. */
import { Type } from 'typebox'

const method = Type.Function([], Type.Unknown())

export const adminPoints = {
  'admin.operation': {
    cardinality: 'many',
    schema: Type.Object(
      {
        id: Type.String({ minLength: 1 }),
        method: Type.Enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
        path: Type.String({ pattern: '^/' }),
        tag: Type.String(),
        summary: Type.String({ minLength: 1 }),
        handle: method,
      },
      { description: 'An operation of the Admin API, its services bound; its id is that of the contribution.' },
    ),
  },
} as const
