import {
  allowedWriteConditions,
  checksumHeaders,
  defineS3Operation,
  quoteEtag,
  writtenVersionId,
} from 'svc/plugins/s3/api'

export default defineS3Operation({
  name: 'PutObject',
  summary: 'Stores an object.',
  match: { method: 'PUT', level: 'object' },
  action: 's3:PutObject',
  body: { kind: 'stream' },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'AccessDenied',
    'BadDigest',
    'EntityTooLarge',
    'IncompleteBody',
    'InvalidDigest',
    'InvalidRedirectLocation',
    'InvalidStorageClass',
    'KeyTooLongError',
    'MetadataTooLarge',
    'MissingContentLength',
    'NoSuchBucket',
    'NoSuchKey',
    'NotImplemented',
    'PreconditionFailed',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, body, checksumAlgorithm } = request
    const stored = await objects.putObject({
      bucket,
      key,
      attributes: request.readAttributes(),
      body,
      checksumAlgorithm,
      conditions: allowedWriteConditions(request),
      origin: request.origin,
    })
    return {
      headers: {
        ETag: quoteEtag(stored.etag),
        'x-amz-object-size': stored.sizeBytes,
        'x-amz-version-id': writtenVersionId(stored.versionId),
        ...checksumHeaders(stored.checksum),
        ...(await request.describeWritten({ bucket, key, ...stored })),
      },
    }
  },
})
