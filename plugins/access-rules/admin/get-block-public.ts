import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BlockPublicAccess, describeClusterBlock } from './block-public-schema.ts'

export default defineAdminOperation({
  id: 'getBlockPublic',
  method: 'GET',
  path: '/access/block-public',
  tag: 'access-rules',
  summary: 'Says whether public access is blocked in the whole cluster.',
  authorize: [['s3:GetAccountPublicAccessBlock', 'admin:GetConfig', 'admin:ManageAccessRules']],
  response: BlockPublicAccess,
  uses: ['objectOwnership'],
  handle: (_request, { objectOwnership }) => describeClusterBlock(objectOwnership),
})
