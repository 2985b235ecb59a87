import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BlockPublicAccess } from './block-public-schema.ts'

export default defineAdminOperation({
  id: 'getBlockPublic',
  method: 'GET',
  path: '/access/block-public',
  tag: 'access-rules',
  summary: 'Says whether public access is blocked in the whole cluster.',
  authorize: [['s3:GetAccountPublicAccessBlock', 'admin:GetConfig', 'admin:ManageAccessRules']],
  response: BlockPublicAccess,
  uses: ['bucketPolicy'],
  handle(_request, { bucketPolicy }) {
    const { isBlocked, mode } = bucketPolicy.publicAccess
    return { bucket: '', enabled: isBlocked, mode, cluster: isBlocked, effective: isBlocked }
  },
})
