import { defineAdminOperation } from 'svc/plugins/admin/api'
import { ConfigMap, mapOf, readers } from './config-schema.ts'

export default defineAdminOperation({
  id: 'getConfig',
  method: 'GET',
  path: '/config',
  tag: 'config',
  summary: 'Returns the settings of all subsystems, with defaults for keys that were not set. Secrets are masked.',
  authorize: readers,
  response: ConfigMap,
  uses: ['settings'],
  handle: async (_request, { settings }) => mapOf(await settings.administration.show()),
})
