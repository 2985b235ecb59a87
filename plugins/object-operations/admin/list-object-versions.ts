import {
  BucketParameters,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  ObjectKey,
  pageOf,
  pageParameters,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { versionsOfKey } from '../versions-of-key.ts'
import { describeVersion, ObjectSummary } from './object-schema.ts'

export default defineAdminOperation({
  id: 'listObjectVersions',
  method: 'GET',
  path: '/buckets/{bucket}/objects/versions',
  tag: 'objects',
  summary: 'Lists the versions and delete markers of one object, newest first.',
  authorize: ['s3:ListBucketVersions'],
  authorizeRequest(request) {
    const { key } = readObjectParameters(request)
    const query = new Map([
      ['prefix', key],
      ['max-keys', String(request.query.limit)],
    ])
    return { actions: ['s3:ListBucketVersions'], facts: { query } }
  },
  params: BucketParameters,
  query: Type.Object({ key: ObjectKey, ...pageParameters }),
  response: pageOf(ObjectSummary),
  errors: ['bucket_not_found', 'invalid_object_key'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key } = readObjectParameters(request)
    const { cursor, limit } = request.query
    const page = await versionsOfKey(objects, { bucket, key, after: decodeCursor(cursor), limit })
    return {
      items: page.versions.map(describeVersion),
      nextCursor: encodeCursor(page.isTruncated ? page.versions.at(-1)?.versionId : undefined),
    }
  },
})
