import { defineAdminOperation } from 'svc/plugins/admin/api'
import { BlockPublicAccess, blockActions, replyWithClusterBlock } from './block-public-schema.ts'

export default defineAdminOperation({
  id: 'getBlockPublic',
  method: 'GET',
  path: '/access/block-public',
  tag: 'access-rules',
  summary: 'Says whether public access is blocked in the whole cluster.',
  authorize: [blockActions.cluster.read],
  response: BlockPublicAccess,
  etag: true,
  uses: ['objectOwnership'],
  handle: (_request, { objectOwnership }) => replyWithClusterBlock(objectOwnership),
})
