import { defineAdminOperation } from 'svc/plugins/admin/api'
import { readUploadParameters, requireOnKey, UploadParameters, UploadQuery } from './upload-parameters.ts'

export default defineAdminOperation({
  id: 'abortUpload',
  method: 'DELETE',
  path: '/buckets/{bucket}/uploads/{uploadId}',
  tag: 'uploads',
  summary: 'Ends an upload and removes its parts.',
  authorize: ['s3:AbortMultipartUpload'],
  authorizeRequest: requireOnKey('s3:AbortMultipartUpload'),
  params: UploadParameters,
  query: UploadQuery,
  errors: ['bucket_not_found', 'invalid_object_key', 'upload_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, uploadId } = readUploadParameters(request)
    await objects.abortUpload(bucket, key, uploadId)
  },
})
