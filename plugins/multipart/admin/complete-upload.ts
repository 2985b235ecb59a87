import { isCatalogError } from 'svc/kernel'
import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import type { ObjectsService, Upload } from 'svc/plugins/objects/api'
import { readWriteConditions, unquoteEtag } from 'svc/plugins/s3/api'
import { type Static, Type } from 'typebox'
import { authorizeWrite, readUploadParameters, UploadParameters, UploadQuery } from './upload-parameters.ts'

const partsMax = 10_000

const CompleteUpload = Type.Object(
  {
    parts: Type.Optional(
      Type.Array(
        Type.Object({
          partNumber: Type.Integer({ minimum: 1, maximum: partsMax }),
          etag: Type.String({ maxLength: 256 }),
        }),
        {
          minItems: 1,
          maxItems: partsMax,
          description: 'By number; absent: all stored parts.',
        },
      ),
    ),
  },
  { $id: 'CompleteUpload' },
)

/** The result of an upload: `ObjectSummary` of `objects`. */
const CompletedObject = Type.Object(
  {
    key: Type.String(),
    versionId: Type.Optional(Type.String()),
    size: Type.Integer({ description: 'Bytes.' }),
    etag: Type.String({ description: 'Without quotes.' }),
    lastModified: Type.String({ format: 'date-time' }),
    isDeleteMarker: Type.Boolean(),
    isLatest: Type.Boolean(),
    storageClass: Type.String(),
    contentType: Type.Optional(Type.String()),
  },
  { $id: 'CompletedObject' },
)

export default defineAdminOperation({
  id: 'completeUpload',
  method: 'POST',
  path: '/buckets/{bucket}/uploads/{uploadId}/complete',
  tag: 'uploads',
  summary: 'Completes an upload: its parts become an object. `If-None-Match: *` fails if the object exists.',
  authorize: ['s3:PutObject'],
  // The handler decides: policies may depend on the upload.
  authorizeRequest: () => ({ actions: [] }),
  params: UploadParameters,
  query: UploadQuery,
  body: CompleteUpload,
  bodyOptional: true,
  response: CompletedObject,
  errors: [
    'bad_digest',
    'bucket_not_found',
    'entity_too_small',
    'invalid_part',
    'precondition_failed',
    'quota_exceeded',
    'upload_not_found',
  ],
  uses: ['objects'],
  async handle(request, { objects }) {
    // The outcome of `If-Match` reveals the ETag of the present object.
    const read = request.headers['if-match'] === undefined ? [] : ['s3:GetObject']
    await authorizeWrite(request, objects, { actions: ['s3:PutObject', ...read], createsObject: true })
    const { bucket, key, uploadId } = readUploadParameters(request)
    const upload = await findUpload(objects, bucket, key, uploadId)
    const given = request.body.parts ?? (upload && (await objects.listParts(upload, 0, partsMax)).parts)
    // Only a list of parts can show that a completion is the same one again.
    if (given === undefined) throw adminErrors.upload_not_found()
    if (given.length === 0) throw adminErrors.invalid_part('The upload has no parts.')
    const parts = given.map(({ partNumber, etag }) => ({ partNumber, etag: unquoteEtag(etag) }))
    const conditions = readWriteConditions(request.headers)
    const stored = await objects.completeUpload({ bucket, key, uploadId, parts, conditions, origin: request.origin })
    const { system, storageClass } = upload?.attributes ?? (await objects.getObject(bucket, key))
    const answer: Static<typeof CompletedObject> = {
      key,
      ...(stored.versionId === undefined ? undefined : { versionId: stored.versionId }),
      size: stored.sizeBytes,
      etag: stored.etag,
      lastModified: new Date(stored.modifiedMs).toISOString(),
      isDeleteMarker: false,
      isLatest: true,
      storageClass,
      ...(system.contentType === undefined ? undefined : { contentType: system.contentType }),
    }
    return answer
  },
})

/**
 * Undefined for an upload that is complete already: a client whose answer was lost asks again, and gets the same answer. Throws
 * `upload_not_found`.
 */
async function findUpload(
  objects: Pick<ObjectsService, 'getUpload' | 'requireCompletable'>,
  bucket: string,
  key: string,
  uploadId: string,
): Promise<Upload | undefined> {
  await objects.requireCompletable(bucket, key, uploadId)
  try {
    return await objects.getUpload(bucket, key, uploadId)
  } catch (error) {
    if (isCatalogError(error) && error.code === 'NoSuchUpload') return undefined
    throw error
  }
}
