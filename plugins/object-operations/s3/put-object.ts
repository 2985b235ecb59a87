import { checksumHeaders, defineS3Operation, quoteEtag, readAttributes, readWriteConditions } from 'svc/plugins/s3/api'

export default defineS3Operation<'objects'>({
  name: 'PutObject',
  summary: 'Stores an object.',
  match: { method: 'PUT', level: 'object' },
  action: 's3:PutObject',
  body: { kind: 'stream' },
  reply: { kind: 'empty', status: 200 },
  errors: [
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
    'PreconditionFailed',
  ],
  async handle({ bucket, key, headers, body, checksumAlgorithm }, { objects }) {
    const stored = await objects.putObject({
      bucket,
      key,
      attributes: readAttributes(headers),
      body,
      checksumAlgorithm,
      conditions: readWriteConditions(headers),
    })
    return {
      headers: {
        ETag: quoteEtag(stored.etag),
        'x-amz-object-size': stored.sizeBytes,
        'x-amz-version-id': stored.versionId,
        ...checksumHeaders(stored.checksum),
      },
    }
  },
})
