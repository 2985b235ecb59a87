import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
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
  etag: true,
  errors: ['conflict', 'precondition_failed'],
  uses: ['settings'],
  async handle({ body, ifMatch }, { settings: { administration } }) {
    await administration.apply(body, 'replace', { ifMatch })
    const { subsystems, etag } = await administration.read()
    return replyWith(mapOf(subsystems), { etag })
  },
})
