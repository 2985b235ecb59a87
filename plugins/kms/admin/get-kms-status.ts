import { defineAdminOperation } from 'svc/plugins/admin/api'
import { KmsStatus } from './kms-schema.ts'

export default defineAdminOperation({
  id: 'getKmsStatus',
  method: 'GET',
  path: '/kms/status',
  tag: 'kms',
  summary: 'Returns whether there is key management, whose, and whether it can be reached.',
  authorize: ['admin:KMSKeyStatus'],
  response: KmsStatus,
  uses: ['kms'],
  async handle(_request, { kms }) {
    const { isConfigured, endpoints, ...status } = await kms.status()
    return { configured: isConfigured, ...status, endpoints: endpoints.map(endpoint => ({ ...endpoint })) }
  },
})
