import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { SubsystemParameters } from './config-schema.ts'

export default defineAdminOperation({
  id: 'resetConfigSubsystem',
  method: 'DELETE',
  path: '/config/{subsys}',
  tag: 'config',
  summary: 'Resets a subsystem, or some of its keys, to defaults; a subsystem with an id is removed.',
  authorize: ['admin:ConfigUpdate'],
  params: SubsystemParameters,
  query: Type.Object({
    keys: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: 'Keys to reset, separated by commas; default: all.' }),
    ),
  }),
  errors: ['subsystem_not_found', 'conflict'],
  uses: ['settings'],
  handle({ params: { subsys }, query: { keys } }, { settings }) {
    const named = keys?.split(',').map(key => key.trim())
    return settings.administration.reset(
      subsys,
      named?.filter(key => key !== ''),
    )
  },
})
