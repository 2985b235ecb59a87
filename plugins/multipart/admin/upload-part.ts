import { defineAdminOperation, invalidFields } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { putPart } from '../put-part.ts'
import { authorizeWrite, readUploadParameters, UploadParameters, UploadQuery } from './upload-parameters.ts'
import { describePart, UploadPart } from './upload-schema.ts'

const partNumberMax = 10_000

export default defineAdminOperation({
  id: 'uploadPart',
  method: 'PUT',
  path: '/buckets/{bucket}/uploads/{uploadId}/parts/{partNumber}',
  tag: 'uploads',
  summary:
    'Stores the body of the request as a part of an upload, and replaces a part with the same number. Content-MD5 and x-amz-checksum-… are verified.',
  authorize: ['s3:PutObject'],
  // The handler decides: policies may depend on the upload.
  authorizeRequest: () => ({ actions: [] }),
  params: Type.Object({
    ...UploadParameters.properties,
    partNumber: Type.String({
      pattern: '^[0-9]{1,5}$',
      errorMessage: `must be a number from 1 to ${partNumberMax}`,
      description: `1 to ${partNumberMax}.`,
    }),
  }),
  query: UploadQuery,
  bodyStream: true,
  response: UploadPart,
  errors: ['bad_digest', 'bucket_not_found', 'insufficient_storage', 'quota_exceeded', 'upload_not_found'],
  uses: ['objects', 'checksums'],
  async handle(request, services) {
    await authorizeWrite(request, services.objects, { actions: ['s3:PutObject'], createsObject: false })
    const { bucket, key, uploadId } = readUploadParameters(request)
    const partNumber = Number(request.params.partNumber)
    if (partNumber < 1 || partNumber > partNumberMax) {
      throw invalidFields([{ element: 'path/partNumber', message: `is not between 1 and ${partNumberMax}` }])
    }
    const upload = await services.objects.getUpload(bucket, key, uploadId)
    const { body, checksumAlgorithm } = request.payload
    return describePart((await putPart({ upload, partNumber, body, checksumAlgorithm }, services)).part)
  },
})
