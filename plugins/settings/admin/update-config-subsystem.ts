import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { ConfigSettings, SubsystemParameters } from './config-schema.ts'

export default defineAdminOperation({
  id: 'updateConfigSubsystem',
  method: 'PATCH',
  path: '/config/{subsys}',
  tag: 'config',
  summary:
    'Sets keys of a subsystem in the whole deployment, at once. Other keys keep their values; null resets a key. Secrets are better imported from a file than written on a command line.',
  authorize: ['admin:ConfigUpdate'],
  params: SubsystemParameters,
  body: Type.Object(
    {
      settings: Type.Record(Type.String({ maxLength: 256 }), Type.Union([Type.String(), Type.Null()]), {
        maxProperties: 1000,
        description: 'Values by key; `on` and `off` for booleans.',
      }),
    },
    { $id: 'ConfigChange' },
  ),
  response: Type.Object(
    {
      name: Type.String(),
      settings: ConfigSettings,
      notApplied: Type.Array(Type.String(), {
        description: 'Keys of the request that take effect only after a restart, or not at all: see the schema.',
      }),
    },
    { $id: 'ChangedConfigSubsystem' },
  ),
  errors: ['subsystem_not_found', 'conflict'],
  uses: ['settings'],
  async handle({ params: { subsys }, body }, { settings }) {
    const { name, settings: shown, notApplied } = await settings.administration.update(subsys, body.settings)
    return { name, settings: shown, notApplied: [...notApplied] }
  },
})
