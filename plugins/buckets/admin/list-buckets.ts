import {
  type AdminRequest,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
} from 'svc/plugins/admin/api'
import type { Bucket as StoredBucket } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import type {} from '../publications.ts'
import { Bucket, describeBucket, describePart, rightsOn } from './bucket-schema.ts'

const batchMax = 1000

export default defineAdminOperation({
  id: 'listBuckets',
  method: 'GET',
  path: '/buckets',
  tag: 'buckets',
  summary:
    'Lists the buckets that the caller may list, all of them or in part. Each has the settings that the caller may read: see `getBucket`.',
  authorize: 'service',
  query: Type.Object({ prefix: Type.String({ default: '', maxLength: 255 }), ...pageParameters }),
  response: pageOf(Bucket),
  uses: ['objects', 'authSigv4', 'policy', 'encryption', 'publications'],
  async handle(request, { publications, ...services }) {
    const { objects, authSigv4 } = services
    const { prefix, cursor, limit } = request.query
    const mayListAll = request.isAllowed('s3:ListAllMyBuckets')
    const described = { ...services, isPublished: await publications.current() }
    const items = []
    let position: string | undefined = decodeCursor(cursor) ?? ''
    // A bucket that is skipped does not count: go on until the page is full or there are no more.
    while (position !== undefined && items.length < limit) {
      const startAfter: string = position
      const page: { buckets: readonly StoredBucket[]; next: string | undefined } = await objects.listBuckets({
        prefix,
        startAfter,
        limit: Math.min(limit - items.length, batchMax),
      })
      for (const bucket of page.buckets) {
        const view = mayListAll ? 'whole' : viewOf(request, bucket.name)
        if (view === 'part') items.push(describePart(bucket, authSigv4.region))
        else if (view === 'whole') items.push(await describeBucket(bucket, described, rightsOn(bucket.name, request)))
      }
      position = page.next
    }
    return { items, nextCursor: encodeCursor(position) }
  },
})

export function viewOf(request: Pick<AdminRequest, 'isAllowed' | 'isAllowedInPart'>, bucket: string) {
  if (request.isAllowed('s3:ListBucket', bucket)) return 'whole'
  return request.isAllowedInPart('s3:ListBucket', bucket) ? 'part' : 'none'
}
