import {
  BucketParameters,
  defineAdminOperation,
  objectParameters,
  readObjectParameters,
  replyWithBytes,
} from 'svc/plugins/admin/api'
import { onDeleteMarker } from 'svc/plugins/objects/api'
import { checkReadConditions, httpDate, quoteEtag } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import { requestedRange } from '../read-answer.ts'
import { refuseCustomerKey } from './customer-key.ts'
import { downloadHeaders } from './download-headers.ts'

export default defineAdminOperation({
  id: 'downloadObject',
  method: 'GET',
  path: '/buckets/{bucket}/objects/download',
  tag: 'objects',
  summary:
    'Returns the bytes of an object, or a range of them. A browser saves them; with `inline` it shows pictures, sound, films, PDF and plain text, but no types that could run as a page of the console.',
  authorize: [['s3:GetObject', 's3:GetObjectVersion']],
  authorizeRequest(request) {
    const object = readObjectParameters(request)
    return { actions: [object.versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'], ...object }
  },
  params: BucketParameters,
  query: Type.Object({
    ...objectParameters,
    inline: Type.Boolean({ default: false, description: 'Shown instead of saved, if the type is safe.' }),
  }),
  bytes: 'application/octet-stream',
  errors: [
    'bucket_not_found',
    'invalid_object_key',
    'object_not_found',
    'precondition_failed',
    'range_not_satisfiable',
    'version_not_found',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const { headers: asked, query } = request
    const version = await objects.getObject(bucket, key, versionId)
    if (version.isDeleteMarker) throw onDeleteMarker(version.versionId)
    refuseCustomerKey(version)
    const condition = checkReadConditions(asked, version)
    const headers: Record<string, string | undefined> = {
      ...downloadHeaders(version, query.inline),
      'accept-ranges': 'bytes',
      etag: quoteEtag(version.etag),
      'last-modified': httpDate(version.modifiedMs),
    }
    if (condition === 'not-modified') {
      return replyWithBytes({ status: 304, headers: { ...headers, 'content-type': undefined }, data: undefined })
    }
    const range = requestedRange({ headers: asked }, version)
    const { start, length } = range ?? { start: 0, length: version.sizeBytes }
    if (range !== undefined) headers['content-range'] = `bytes ${start}-${start + length - 1}/${version.sizeBytes}`
    const data = await objects.read(version, start, length)
    return replyWithBytes({ status: range === undefined ? 200 : 206, headers, data, sizeBytes: length })
  },
})
