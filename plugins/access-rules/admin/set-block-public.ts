import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { BlockPublicAccess, describeClusterBlock } from './block-public-schema.ts'

const SetBlockPublic = Type.Object(
  {
    enabled: Type.Boolean(),
    mode: Type.Optional(
      Type.Union([Type.Literal('reject'), Type.Literal('ignore')], {
        description:
          'Refuses to store public policies, rules and ACLs, or stores them without effect. Absent: unchanged.',
      }),
    ),
  },
  { $id: 'SetBlockPublic', additionalProperties: false },
)

export default defineAdminOperation({
  id: 'setBlockPublic',
  method: 'PUT',
  path: '/access/block-public',
  tag: 'access-rules',
  summary:
    'Blocks public access in every bucket, or removes the block. In force from the next request on, also for buckets that were public before. Writes the settings of `access`.',
  authorize: [['s3:PutAccountPublicAccessBlock', 'admin:ConfigUpdate']],
  body: SetBlockPublic,
  response: BlockPublicAccess,
  uses: ['objectOwnership'],
  async handle({ body: { enabled, mode } }, { objectOwnership }) {
    await objectOwnership.setClusterPublicAccess(enabled, mode)
    return describeClusterBlock(objectOwnership)
  },
})
