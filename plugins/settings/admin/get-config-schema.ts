import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { readers } from './config-schema.ts'

const Key = Type.Object({
  name: Type.String(),
  type: Type.String({ description: '`string`, `integer`, `boolean`, `choice`, `list`, `size` or `duration`.' }),
  description: Type.String(),
  default: Type.String(),
  values: Type.Array(Type.String(), { description: 'The allowed values; empty if any text is allowed.' }),
  sensitive: Type.Boolean({ description: 'Sealed at rest, and masked in every answer.' }),
  applied: Type.Boolean({ description: 'A change takes effect without a restart.' }),
})

export default defineAdminOperation({
  id: 'getConfigSchema',
  method: 'GET',
  path: '/config/schema',
  tag: 'config',
  summary: 'Returns all subsystems with their keys.',
  authorize: readers,
  response: Type.Array(
    Type.Object(
      {
        name: Type.String(),
        description: Type.String(),
        multiple: Type.Boolean({ description: 'May exist several times, each with an id: `name:id`.' }),
        keys: Type.Array(Key),
      },
      { $id: 'SchemaSubsystem' },
    ),
  ),
  uses: ['settings'],
  handle: (_request, { settings }) =>
    settings.administration.describe().map(({ keys, ...subsystem }) => ({
      ...subsystem,
      keys: keys.map(({ values, ...key }) => ({ ...key, values: [...values] })),
    })),
})
