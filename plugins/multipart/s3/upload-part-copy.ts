import { objectErrors } from 'svc/plugins/objects/api'
import {
  checkBucketOwner,
  checkCopyConditions,
  defineS3Operation,
  isoTime,
  quoteEtag,
  readCopyRange,
  readCopySource,
  requireCopySource,
} from 'svc/plugins/s3/api'
import { readPartNumber } from '../parameters.ts'

const partBytesMax = 5 * 1024 ** 3

export default defineS3Operation<'objects'>({
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
  async handle(request, { objects }) {
    const { bucket, key, query, headers } = request
    const partNumber = readPartNumber(request)
    const from = readCopySource(request)
    requireCopySource(request, from)
    const upload = await objects.getUpload(bucket, key, query.get('uploadId')!)
    await checkBucketOwner(headers['x-amz-source-expected-bucket-owner'] as string | undefined, () =>
      objects.getBucket(from.bucket),
    )
    const source = await objects.getObject(from.bucket, from.key, from.versionId)
    if (source.isDeleteMarker) {
      if (from.versionId === undefined) throw objectErrors.NoSuchKey(undefined, { extra: { Key: from.key } })
      throw objectErrors.InvalidRequest(
        'The source of a copy request may not specifically refer to a delete marker by version id.',
      )
    }
    checkCopyConditions(headers, source)
    const range = readCopyRange(headers['x-amz-copy-source-range'] as string | undefined, source.sizeBytes)
    const { start, length } = range ?? { start: 0, length: source.sizeBytes }
    if (length > partBytesMax) {
      throw objectErrors.InvalidRequest(
        `The specified copy source is larger than the maximum allowable size for a copy source: ${partBytesMax}`,
      )
    }
    const part = await objects.copyPart(upload, partNumber, source, start, length)
    const { checksum } = part
    return {
      headers: { 'x-amz-copy-source-version-id': source.versionId === 'null' ? undefined : source.versionId },
      xml: {
        LastModified: isoTime(part.modifiedMs),
        ETag: quoteEtag(part.etag),
        ...(checksum === undefined ? undefined : { [`Checksum${checksum.algorithm}`]: checksum.value }),
      },
    }
  },
})
