import { replyWith } from 'svc/plugins/admin/api'
import { type Bucket, etagOfField } from 'svc/plugins/objects/api'
import { Type } from 'typebox'

export const Versioning = Type.Object(
  { status: Type.Union([Type.Literal('off'), Type.Literal('enabled'), Type.Literal('suspended')]) },
  { $id: 'Versioning' },
)

export function replyWithVersioning(bucket: Bucket) {
  return replyWith({ status: bucket.versioning }, { etag: etagOfField(bucket, 'versioning') })
}
