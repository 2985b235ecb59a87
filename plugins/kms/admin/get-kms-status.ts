import { defineAdminOperation } from 'svc/plugins/admin/api'
import { KmsStatus } from './kms-schema.ts'

export default defineAdminOperation({
  id: 'getKmsStatus',
  method: 'GET',
  path: '/kms/status',
  tag: 'kms',
  summary: 'Returns whether key management is configured, by which backend, and whether that is reachable.',
  authorize: ['admin:KMSKeyStatus'],
  response: KmsStatus,
  uses: ['kms'],
  async handle(_request, { kms }) {
    const { isConfigured, endpoints, ...status } = await kms.status()
    return { configured: isConfigured, ...status, endpoints: endpoints.map(endpoint => ({ ...endpoint })) }
  },
})
