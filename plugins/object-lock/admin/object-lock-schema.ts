import { replyWith } from 'svc/plugins/admin/api'
import { type Bucket, etagOfField } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

export const ObjectLock = Type.Object(
  {
    enabled: Type.Boolean(),
    mode: Type.Optional(
      Type.Union([Type.Literal('GOVERNANCE'), Type.Literal('COMPLIANCE')], {
        description: 'Mode of the default retention; needs exactly one of `days` and `years`.',
      }),
    ),
    days: Type.Optional(Type.Integer()),
    years: Type.Optional(Type.Integer()),
  },
  { $id: 'ObjectLock' },
)

export function replyWithObjectLock(bucket: Bucket) {
  const { objectLock } = bucket
  return replyWith(
    { enabled: objectLock !== undefined, ...objectLock?.defaultRetention },
    { etag: etagOfField(bucket, 'objectLock') },
  )
}
