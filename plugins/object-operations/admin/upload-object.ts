import type { IncomingHttpHeaders } from 'node:http'
import {
  type AdminRequest,
  attributeRequirements,
  BucketParameters,
  defineAdminOperation,
  ObjectKey,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import { readWriteConditions } from 'svc/plugins/s3/api'
import { Type } from 'typebox'
import { describeStored, ObjectSummary } from './object-schema.ts'

/** A browser adds `Cache-Control` of its own to a request with a condition: that of a console session says nothing of the object. */
function givenHeaders({ headers, session }: Pick<AdminRequest, 'headers' | 'session'>): IncomingHttpHeaders {
  return session === undefined ? headers : { ...headers, 'cache-control': undefined }
}

export default defineAdminOperation({
  id: 'uploadObject',
  method: 'POST',
  path: '/buckets/{bucket}/objects/upload',
  tag: 'uploads',
  summary:
    'Stores the body of the request as an object. Type, metadata, tags, locks and checksums are in the headers of S3. A key that ends with a slash, without bytes, creates a folder.',
  authorize: ['s3:PutObject'],
  authorizeRequest(request) {
    const { bucket, key } = readObjectParameters(request)
    const { actions, facts } = attributeRequirements(request.headers)
    // The outcome of `If-Match` reveals the ETag of the present object.
    const read = request.headers['if-match'] === undefined ? [] : ['s3:GetObject']
    return { actions: ['s3:PutObject', ...read, ...actions], bucket, key, facts: { ...facts, createsObject: true } }
  },
  params: BucketParameters,
  query: Type.Object({ key: ObjectKey }),
  bodyStream: true,
  response: ObjectSummary,
  location: ({ key }, { bucket }) => `/buckets/${bucket}/objects/stat?key=${encodeURIComponent(key)}`,
  errors: [
    'bad_digest',
    'bucket_not_found',
    'insufficient_storage',
    'invalid_object_key',
    'precondition_failed',
    'quota_exceeded',
  ],
  uses: ['objects', 's3', 'authSession'],
  async handle(request, { objects, s3, authSession }) {
    const { bucket, key } = readObjectParameters(request)
    const { payload } = request
    const headers = givenHeaders(request)
    const { facts } = attributeRequirements(headers)
    const kmsKeyId = s3.unnamedKmsKey(headers)
    if (kmsKeyId !== undefined) {
      const encryption = () => ({ algorithm: 'aws:kms', kmsKeyId })
      await request.authorize(['s3:PutObject'], { bucket, key, facts: { ...facts, createsObject: true, encryption } })
    }
    const isAllowed = (action: string) => request.isAllowed(action, bucket, key, facts)
    const attributes = s3.readAttributes({ bucket, key, headers, isAllowed })
    const stored = await objects.putObject({
      bucket,
      key,
      attributes,
      body: payload.body,
      bytesMax: await authSession?.uploadBytesMax(),
      checksumAlgorithm: payload.checksumAlgorithm,
      conditions: readWriteConditions(headers),
      origin: request.origin,
    })
    return describeStored(key, stored, attributes)
  },
})
