import { childrenNamed, childText, defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import { toS3KeyError } from '../bucket-encryption.ts'
import { readKeyId } from '../encryption-request.ts'

export default defineS3Operation({
  name: 'UpdateObjectEncryption',
  summary: 'Rewraps the data key of an object under another KMS key. Its bytes, ETag and times stay.',
  match: { method: 'PUT', level: 'object', query: ['encryption'] },
  action: 's3:UpdateObjectEncryption',
  versionedAction: 's3:UpdateObjectEncryption',
  body: {
    kind: 'xml',
    root: 'ObjectEncryption',
    elements: { 'SSE-KMS': { KMSKeyArn: 'text', BucketKeyEnabled: 'text' } },
    maxBytes: 64 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: [
    'InvalidArgument',
    'InvalidRequest',
    'KMS.NotFoundException',
    'MalformedXML',
    'MethodNotAllowed',
    'NoSuchBucket',
    'NoSuchKey',
    'NoSuchVersion',
    'NotImplemented',
  ],
  uses: ['encryption'],
  async handle({ bucket, key, query, xml }, { encryption }) {
    const [chosen, other] = childrenNamed(xml!, 'SSE-KMS')
    if (chosen === undefined || other !== undefined) throw s3Errors.MalformedXML('ObjectEncryption holds one SSE-KMS.')
    const arn = childText(chosen, 'KMSKeyArn')?.trim()
    if (arn === undefined || arn === '') throw s3Errors.MalformedXML('SSE-KMS has a KMSKeyArn.')
    const to = {
      kmsKeyId: readKeyId(arn),
      bucketKeyEnabled: childText(chosen, 'BucketKeyEnabled')?.trim() === 'true',
    }
    try {
      await encryption.changeKey(bucket, key, query.get('versionId'), to)
    } catch (error) {
      throw toS3KeyError(error)
    }
    return {}
  },
})
