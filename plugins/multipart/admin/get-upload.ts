import { defineAdminOperation } from 'svc/plugins/admin/api'
import { readUploadParameters, requireOnKey, UploadParameters, UploadQuery } from './upload-parameters.ts'
import { describePart, describeUpload, UploadSession } from './upload-schema.ts'

export default defineAdminOperation({
  id: 'getUpload',
  method: 'GET',
  path: '/buckets/{bucket}/uploads/{uploadId}',
  tag: 'uploads',
  summary: 'Returns an upload with its stored parts, so that it can be resumed.',
  authorize: ['s3:ListMultipartUploadParts'],
  authorizeRequest: requireOnKey('s3:ListMultipartUploadParts'),
  params: UploadParameters,
  query: UploadQuery,
  response: UploadSession,
  errors: ['bucket_not_found', 'invalid_object_key', 'upload_not_found'],
  uses: ['objects', 'iam'],
  async handle(request, { objects, iam }) {
    const { bucket, key, uploadId } = readUploadParameters(request)
    const upload = await objects.getUpload(bucket, key, uploadId)
    const { session, parts } = await describeUpload(upload, iam.owner, objects)
    // Checksums are of the plaintext, which only the holder of the key may know.
    const hasCustomerKey = upload.encryption?.type === 'SSE-C'
    return {
      ...session,
      parts: parts.map(part => describePart(hasCustomerKey ? { ...part, checksum: undefined } : part)),
    }
  },
})
