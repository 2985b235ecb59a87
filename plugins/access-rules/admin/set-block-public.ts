import { authorizeChange, defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { BlockPublicAccess, blockActions, replyWithClusterBlock } from './block-public-schema.ts'

const SetBlockPublic = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Absent: unchanged.' })),
    mode: Type.Optional(
      Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
        description:
          'Refuses to store public policies, rules and ACLs, or stores them without effect. Absent: unchanged.',
      }),
    ),
  },
  { $id: 'SetBlockPublic', additionalProperties: false, minProperties: 1 },
)

export default defineAdminOperation({
  id: 'setBlockPublic',
  method: 'PUT',
  path: '/access/block-public',
  tag: 'access-rules',
  summary:
    'Blocks public access in every bucket, or removes the block. In force from the next request on, also for buckets that were public before. Writes the settings of `access`.',
  authorize: [blockActions.cluster.change],
  authorizeRequest: authorizeChange(blockActions.cluster.change, blockActions.cluster.read),
  body: SetBlockPublic,
  response: BlockPublicAccess,
  etag: true,
  errors: ['precondition_failed'],
  uses: ['objectOwnership'],
  async handle({ body: { enabled, mode }, ifMatch }, { objectOwnership }) {
    await objectOwnership.setClusterPublicAccess({ isBlocked: enabled, mode }, ifMatch)
    return replyWithClusterBlock(objectOwnership)
  },
})
