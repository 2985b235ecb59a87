import {
  type AdminRequest,
  BucketParameters,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageParameters,
} from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import { isPlaceholder } from '../placeholder.ts'
import { describeObject, ObjectListing } from './object-schema.ts'

const ListQuery = Type.Object({
  prefix: Type.String({ default: '', maxLength: 1024 }),
  delimiter: Type.String({ default: '/', maxLength: 1024, description: 'Empty: everything below the prefix.' }),
  ...pageParameters,
})

export default defineAdminOperation({
  id: 'listObjects',
  method: 'GET',
  path: '/buckets/{bucket}/objects',
  tag: 'objects',
  summary:
    'Lists the objects and folders directly under a prefix, in UTF-8 byte order. The placeholder of the folder itself, an empty object, is omitted unless everything below the prefix is asked for.',
  authorize: ['s3:ListBucket'],
  authorizeRequest(request) {
    const { prefix, delimiter, limit } = readListing(request)
    const query = new Map([
      ['prefix', prefix],
      ['delimiter', delimiter],
      ['max-keys', String(limit)],
    ])
    return { actions: ['s3:ListBucket'], facts: { query } }
  },
  params: BucketParameters,
  query: ListQuery,
  response: ObjectListing,
  errors: ['bucket_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { prefix, delimiter, limit, cursor } = readListing(request)
    const startAfter = decodeCursor(cursor) ?? ''
    const page = await objects.listObjects({
      bucket: request.params.bucket,
      prefix,
      delimiter,
      startAfter,
      maxKeys: limit,
      withDetails: true,
    })
    const hidden = delimiter === '' ? undefined : prefix
    return {
      objects: page.objects.filter(object => object.key !== hidden || !isPlaceholder(object)).map(describeObject),
      prefixes: [...page.prefixes],
      isTruncated: page.next !== undefined,
      nextCursor: encodeCursor(page.next),
    }
  },
})

function readListing({
  query,
  normalizeKey,
}: Pick<AdminRequest<object, Static<typeof ListQuery>>, 'query' | 'normalizeKey'>) {
  return { ...query, prefix: normalizeKey(query.prefix), delimiter: normalizeKey(query.delimiter) }
}
