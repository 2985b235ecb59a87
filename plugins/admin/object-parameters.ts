/** Parameters of operations on a bucket, and on an object in it. */
import { requireKeyLength } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import type { AdminRequest } from './api.ts'

export const BucketParameters = Type.Object({ bucket: Type.String({ minLength: 1, maxLength: 255 }) })

export const ObjectKey = Type.String({ minLength: 1, maxLength: 1024, description: 'At most 1024 bytes in UTF-8.' })

export const VersionId = Type.String({ minLength: 1, maxLength: 64, description: '`null`: the null version.' })

/** For the query schema of operations on one object. */
export const objectParameters = {
  key: ObjectKey,
  versionId: Type.Optional(VersionId),
}

type ObjectRequest = Pick<
  AdminRequest<{ bucket: string }, { key: string; versionId?: string }>,
  'params' | 'query' | 'normalizeKey'
>

/** The bucket, key and version of the request. Throws `invalid_object_key` (as KeyTooLongError). */
export function readObjectParameters({ params: { bucket }, query, normalizeKey }: ObjectRequest) {
  const key = normalizeKey(query.key)
  requireKeyLength(key)
  return { bucket, key, versionId: query.versionId }
}
