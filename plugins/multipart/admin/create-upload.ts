import {
  attributeRequirements,
  BucketParameters,
  defineAdminOperation,
  headersOfFields,
  newObjectFields,
  ObjectKey,
} from 'svc/plugins/admin/api'
import { requireKeyLength } from 'svc/plugins/objects/api'
import { Type } from 'typebox'
import { uploadChecksum } from '../part-checksums.ts'
import { describeUpload, UploadSession } from './upload-schema.ts'

const CreateUpload = Type.Object(
  {
    key: ObjectKey,
    ...newObjectFields,
    checksumAlgorithm: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'Checksum algorithm of the whole object, named as in S3; default CRC64NVME.',
      }),
    ),
  },
  { $id: 'CreateUpload' },
)

export default defineAdminOperation({
  id: 'createUpload',
  method: 'POST',
  path: '/buckets/{bucket}/uploads',
  tag: 'uploads',
  summary:
    'Begins an upload in parts, which can also be continued over S3. Tags and locks need their own actions in addition.',
  authorize: ['s3:PutObject'],
  authorizeRequest(request) {
    const { actions, facts } = attributeRequirements(headersOfFields(request.body))
    return {
      actions: ['s3:PutObject', ...actions],
      bucket: request.params.bucket,
      key: request.normalizeKey(request.body.key),
      facts: { ...facts, createsObject: false },
    }
  },
  params: BucketParameters,
  body: CreateUpload,
  response: UploadSession,
  location: ({ bucket, key, uploadId }) => `/buckets/${bucket}/uploads/${uploadId}?key=${encodeURIComponent(key)}`,
  errors: ['bucket_not_found', 'invalid_object_key', 'quota_exceeded'],
  uses: ['objects', 'checksums', 's3', 'iam'],
  async handle(request, { objects, checksums, s3, iam }) {
    const { bucket } = request.params
    const { key: givenKey, checksumAlgorithm, ...fields } = request.body
    const key = request.normalizeKey(givenKey)
    requireKeyLength(key)
    const headers = headersOfFields(fields)
    const { facts } = attributeRequirements(headers)
    const kmsKeyId = s3.unnamedKmsKey(headers)
    if (kmsKeyId !== undefined) {
      const encryption = () => ({ algorithm: 'aws:kms', kmsKeyId })
      await request.authorize(['s3:PutObject'], { bucket, key, facts: { ...facts, createsObject: false, encryption } })
    }
    const isAllowed = (action: string) => request.isAllowed(action, bucket, key, facts)
    const attributes = s3.readAttributes({ bucket, key, headers, isAllowed })
    const { algorithm, type } = uploadChecksum(checksumAlgorithm, undefined, checksums)
    const begun = { bucket, key, attributes, checksumAlgorithm: algorithm, checksumType: type }
    const { session } = await describeUpload(await objects.createUpload(begun), iam.owner, objects)
    return { ...session, parts: [] }
  },
})
