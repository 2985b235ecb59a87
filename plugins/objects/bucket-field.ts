/** The settings in a bucket's record, each with an ETag of its own: a change of one does not undo what somebody else has made of it meanwhile. */
import { hash } from 'node:crypto'
import { canonicalJson } from 'svc/plugins/sealing/api'
import type { Bucket } from './api.ts'
import { objectErrors } from './errors.ts'

export type BucketField = 'versioning' | 'tags' | 'objectLock' | 'quotaBytes'

/** The ETag of a setting: as that of documents, 32 hexadecimal digits. */
export function etagOfField<Field extends BucketField>(bucket: Pick<Bucket, Field>, field: Field): string {
  const value: unknown = bucket[field]
  const plain = value instanceof Map ? Object.fromEntries(value) : value
  return hash('sha256', canonicalJson({ [field]: plain ?? null })).slice(0, 32)
}

/** ETags by field; `*` is any. */
export type ExpectedFields = { readonly [Field in BucketField]?: string | undefined }

/** Throws PreconditionFailed unless the settings have these ETags. */
export function requireFields(bucket: Pick<Bucket, BucketField>, expected: ExpectedFields = {}): void {
  for (const [field, etag] of Object.entries(expected) as [BucketField, string | undefined][]) {
    if (etag === undefined || etag === '*' || etagOfField(bucket, field) === etag) continue
    throw objectErrors.PreconditionFailed(undefined, { extra: { Condition: 'If-Match' } })
  }
}
