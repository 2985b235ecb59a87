import { defineAdminOperation } from 'svc/plugins/admin/api'
import { ConfigMap, mapOf } from './config-schema.ts'

export default defineAdminOperation({
  id: 'replaceConfig',
  method: 'PUT',
  path: '/config',
  tag: 'config',
  summary:
    'Replaces the settings of all subsystems in one change, or none. Missing keys are reset; a masked secret is kept; a default value of a key that was not set stays unset.',
  authorize: ['admin:ConfigUpdate'],
  body: ConfigMap,
  response: ConfigMap,
  errors: ['conflict'],
  uses: ['settings'],
  async handle({ body }, { settings: { administration } }) {
    await administration.apply(body, 'replace')
    return mapOf(await administration.show())
  },
})
