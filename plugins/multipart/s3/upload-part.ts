import { checksumHeaders, defineS3Operation, quoteEtag } from 'svc/plugins/s3/api'
import { readPartNumber } from '../parameters.ts'
import { requirePartChecksum } from '../part-checksums.ts'
import { putPart } from '../put-part.ts'

export default defineS3Operation({
  name: 'UploadPart',
  summary: 'Stores a part of an upload, and replaces a part with the same number.',
  match: { method: 'PUT', level: 'object', query: ['partNumber', 'uploadId'] },
  action: 's3:PutObject',
  body: { kind: 'stream' },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'BadDigest',
    'EntityTooLarge',
    'IncompleteBody',
    'InvalidArgument',
    'InvalidDigest',
    'InvalidRequest',
    'MissingContentLength',
    'NoSuchBucket',
    'NoSuchUpload',
  ],
  uses: ['objects', 'checksums'],
  async handle(request, { objects, checksums }) {
    const { bucket, key, query, body, checksumAlgorithm } = request
    const partNumber = readPartNumber(request)
    const found = await objects.getUpload(bucket, key, query.get('uploadId')!)
    requirePartChecksum(found, checksumAlgorithm)
    const upload = { ...found, customerKey: request.customerKey('object') }
    const { part, verified } = await putPart({ upload, partNumber, body, checksumAlgorithm }, { objects, checksums })
    const answered =
      verified === undefined
        ? part.checksum
        : { algorithm: verified.algorithm, type: 'FULL_OBJECT' as const, value: verified.value.toString('base64') }
    return {
      headers: {
        ETag: quoteEtag(part.etag),
        ...withoutType(checksumHeaders(answered)),
        ...request.describePart(found),
      },
    }
  },
})

/** A part has no checksum type of its own. */
function withoutType({ 'x-amz-checksum-type': _, ...headers }: Record<string, string>): Record<string, string> {
  return headers
}
