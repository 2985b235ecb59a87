import { replyWith } from 'svc/plugins/admin/api'
import { type Bucket, etagOfField } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

export const Quota = Type.Object(
  {
    type: Type.Union([Type.Literal('hard'), Type.Literal('')], { description: 'Empty where there is none.' }),
    size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Bytes; 0: no quota.' }),
  },
  { $id: 'Quota' },
)

export function replyWithQuota(bucket: Bucket) {
  const size = bucket.quotaBytes ?? 0
  return replyWith(
    { type: size === 0 ? ('' as const) : ('hard' as const), size },
    { etag: etagOfField(bucket, 'quotaBytes') },
  )
}
