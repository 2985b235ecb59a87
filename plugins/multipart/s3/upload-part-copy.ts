import { objectErrors } from 'svc/plugins/objects/api'
import {
  defineS3Operation,
  isoTime,
  quoteEtag,
  readCopyRange,
  readCopySource,
  readSourceVersion,
} from 'svc/plugins/s3/api'
import { readPartNumber } from '../parameters.ts'

const partBytesMax = 5 * 1024 ** 3

export default defineS3Operation({
  name: 'UploadPartCopy',
  summary: 'Stores a part of an upload from bytes of an object.',
  match: { method: 'PUT', level: 'object', query: ['partNumber', 'uploadId'], header: 'x-amz-copy-source' },
  action: 's3:PutObject',
  body: { kind: 'none' },
  reply: { kind: 'xml', root: 'CopyPartResult' },
  isSlow: true,
  errors: [
    'AccessDenied',
    'InvalidArgument',
    'InvalidRequest',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchUpload',
    'NoSuchVersion',
    'PreconditionFailed',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, query, headers } = request
    const partNumber = readPartNumber(request)
    const from = readCopySource(request)
    const found = await objects.getUpload(bucket, key, query.get('uploadId')!)
    const upload = { ...found, customerKey: request.customerKey('object') }
    const source = await readSourceVersion(request, objects, from)
    const range = readCopyRange(headers['x-amz-copy-source-range'] as string | undefined, source.sizeBytes)
    const { start, length } = range ?? { start: 0, length: source.sizeBytes }
    if (length > partBytesMax) {
      throw objectErrors.InvalidRequest(
        `The specified copy source is larger than the maximum allowable size for a copy source: ${partBytesMax}`,
      )
    }
    const part = await objects.copyPart(upload, partNumber, source, start, length, request.customerKey('copy-source'))
    const { checksum } = part
    return {
      headers: {
        'x-amz-copy-source-version-id': source.versionId === 'null' ? undefined : source.versionId,
        ...request.describePart(part.upload),
      },
      xml: {
        LastModified: isoTime(part.modifiedMs),
        ETag: quoteEtag(part.etag),
        ...(checksum === undefined ? undefined : { [`Checksum${checksum.algorithm}`]: checksum.value }),
      },
    }
  },
})
