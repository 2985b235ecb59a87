import {
  type AdminRequest,
  BucketParameters,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  invalidFields,
  ObjectKey,
  pageOf,
  pageParameters,
  placeOf,
  readObjectParameters,
  readPlace,
} from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import { versionsOfKey } from '../versions-of-key.ts'
import { describeVersion, ObjectSummary } from './object-schema.ts'

const VersionsQuery = Type.Object({
  key: Type.Optional(ObjectKey),
  prefix: Type.Optional(
    Type.String({ maxLength: 1024, description: 'Instead of `key`: of all keys that begin so; default: of all keys.' }),
  ),
  ...pageParameters,
})

type VersionsRequest = Pick<
  AdminRequest<Static<typeof BucketParameters>, Static<typeof VersionsQuery>>,
  'params' | 'query' | 'normalizeKey'
>

export default defineAdminOperation({
  id: 'listObjectVersions',
  method: 'GET',
  path: '/buckets/{bucket}/objects/versions',
  tag: 'objects',
  summary:
    'Lists the versions and delete markers of one object, or of all objects under a prefix in the order of their keys, newest first.',
  authorize: ['s3:ListBucketVersions'],
  authorizeRequest(request) {
    const { key, prefix } = readScope(request)
    const query = new Map([
      ['prefix', key ?? prefix],
      ['max-keys', String(request.query.limit)],
    ])
    return { actions: ['s3:ListBucketVersions'], facts: { query } }
  },
  params: BucketParameters,
  query: VersionsQuery,
  response: pageOf(ObjectSummary),
  errors: ['bucket_not_found', 'invalid_object_key'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket } = request.params
    const { key, prefix } = readScope(request)
    const { cursor, limit } = request.query
    const position = decodeCursor(cursor)
    if (key !== undefined) {
      const page = await versionsOfKey(objects, { bucket, key, after: position, limit })
      return {
        items: page.versions.map(describeVersion),
        nextCursor: encodeCursor(page.isTruncated ? page.versions.at(-1)?.versionId : undefined),
      }
    }
    const { key: keyMarker, id: versionIdMarker } = readPlace(position)
    const place = { prefix, delimiter: '', keyMarker, versionIdMarker }
    const page = await objects.listVersions({ bucket, ...place, maxKeys: limit, withDetails: true })
    const last = page.versions.at(-1)
    return {
      items: page.versions.map(describeVersion),
      nextCursor: encodeCursor(page.isTruncated && last !== undefined ? placeOf(last.key, last.versionId) : undefined),
    }
  },
})

/** In the form of stored keys. */
function readScope({ params, query, normalizeKey }: VersionsRequest) {
  const { key, prefix = '' } = query
  if (key === undefined) return { key, prefix: normalizeKey(prefix) }
  if (query.prefix !== undefined) throw invalidFields([{ element: 'query/prefix', message: 'excludes key' }])
  return { key: readObjectParameters({ params, query: { key }, normalizeKey }).key, prefix }
}
