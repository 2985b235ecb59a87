import { defineAdminOperation } from 'svc/plugins/admin/api'
import { readUploadParameters, requireOnKey, UploadParameters, UploadQuery } from './upload-parameters.ts'
import { describePart, describeUpload, UploadSession } from './upload-schema.ts'

const partsMax = 10_000

export default defineAdminOperation({
  id: 'getUpload',
  method: 'GET',
  path: '/buckets/{bucket}/uploads/{uploadId}',
  tag: 'uploads',
  summary: 'Returns an upload with the parts that it has so far, so that it can be resumed.',
  authorize: ['s3:ListMultipartUploadParts'],
  authorizeRequest: requireOnKey('s3:ListMultipartUploadParts'),
  params: UploadParameters,
  query: UploadQuery,
  response: UploadSession,
  errors: ['bucket_not_found', 'invalid_object_key', 'upload_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, uploadId } = readUploadParameters(request)
    const upload = await objects.getUpload(bucket, key, uploadId)
    const { parts, isTruncated } = await objects.listParts(upload, 0, partsMax)
    // Checksums are of the plaintext, which is known to nobody but who has the key.
    const hasCustomerKey = upload.encryption?.type === 'SSE-C'
    return {
      ...describeUpload(upload),
      size: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
      partCount: parts.length,
      parts: parts.map(part => describePart(hasCustomerKey ? { ...part, checksum: undefined } : part)),
      partsTruncated: isTruncated,
    }
  },
})
