import { defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import { ConfigMap, mapOf, readers } from './config-schema.ts'

export default defineAdminOperation({
  id: 'getConfig',
  method: 'GET',
  path: '/config',
  tag: 'config',
  summary: 'Returns the settings of all subsystems, with defaults for keys that were not set. Secrets are masked.',
  authorize: readers,
  response: ConfigMap,
  etag: true,
  uses: ['settings'],
  async handle(_request, { settings }) {
    const { subsystems, etag } = await settings.administration.read()
    return replyWith(mapOf(subsystems), { etag })
  },
})
