/** The extension points of the Admin API. */
import type { ServiceName, Services } from 'svc/kernel'
import { Type } from 'typebox'
import type { AdminOperation, AdminOperationDefinition } from './api.ts'

// biome-ignore lint/suspicious/noExplicitAny: an operation of any shape
type AnyDefinition = AdminOperationDefinition<any, any, any, any, ServiceName>

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
    listed: {
      id: (definition: AnyDefinition) => definition.id,
      bind: (definition: AnyDefinition, services: Services): AdminOperation => ({
        ...definition,
        handle: request => definition.handle(request, services),
      }),
    },
  },
} as const
