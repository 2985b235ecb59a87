import { defineAdminOperation } from 'svc/plugins/admin/api'
import { ConfigSubsystem, readers, SubsystemParameters } from './config-schema.ts'

export default defineAdminOperation({
  id: 'getConfigSubsystem',
  method: 'GET',
  path: '/config/{subsys}',
  tag: 'config',
  summary: 'Returns the settings of a subsystem, with defaults for keys that were not set. Secrets are masked.',
  authorize: readers,
  params: SubsystemParameters,
  response: ConfigSubsystem,
  errors: ['subsystem_not_found'],
  uses: ['settings'],
  handle: ({ params: { subsys } }, { settings }) => settings.administration.showOne(subsys),
})
