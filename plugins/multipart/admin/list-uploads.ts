import {
  BucketParameters,
  decodeCursor,
  defineAdminOperation,
  encodeCursor,
  pageOf,
  pageParameters,
  placeOf,
  readPlace,
} from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { describeUpload, UploadSession } from './upload-schema.ts'

/** An upload has at most 10,000 parts: a page ends early, after the upload with which it reaches this number. */
const partsPerPage = 10_000

export default defineAdminOperation({
  id: 'listUploads',
  method: 'GET',
  path: '/buckets/{bucket}/uploads',
  tag: 'uploads',
  summary: 'Lists the uploads in progress by key and then by start time, including those begun over S3.',
  authorize: ['s3:ListBucketMultipartUploads'],
  authorizeRequest: ({ query, normalizeKey }) => ({
    actions: ['s3:ListBucketMultipartUploads'],
    facts: { prefix: normalizeKey(query.prefix) },
  }),
  params: BucketParameters,
  query: Type.Object({ prefix: Type.String({ default: '', maxLength: 1024 }), ...pageParameters }),
  response: pageOf(UploadSession),
  errors: ['bucket_not_found'],
  uses: ['objects', 'iam'],
  async handle({ params: { bucket }, query: { prefix, cursor, limit }, normalizeKey }, { objects, iam }) {
    const { id: uploadIdMarker, key: keyMarker } = readPlace(decodeCursor(cursor))
    const page = await objects.listUploads({
      bucket,
      prefix: normalizeKey(prefix),
      delimiter: '',
      keyMarker,
      uploadIdMarker,
      maxUploads: limit,
    })
    const items: Awaited<ReturnType<typeof describeUpload>>['session'][] = []
    let partCount = 0
    for (const upload of page.uploads) {
      if (partCount >= partsPerPage) break
      const { session } = await describeUpload(upload, iam.owner, objects)
      items.push(session)
      partCount += session.partCount
    }
    const last = items.at(-1)
    const hasMore = page.isTruncated || items.length < page.uploads.length
    return {
      items,
      nextCursor: encodeCursor(hasMore && last !== undefined ? placeOf(last.key, last.uploadId) : undefined),
    }
  },
})
