import {
  type AdminRequest,
  adminErrors,
  attributeRequirements,
  BucketParameters,
  defineAdminOperation,
  headersOfFields,
  invalidFields,
  metadataFields,
  newObjectFields,
  ObjectKey,
  VersionId,
} from 'svc/plugins/admin/api'
import { type ObjectAttributes, type ObjectVersion, onDeleteMarker, requireKeyLength } from 'svc/plugins/objects/api'
import { unquoteEtag } from 'svc/plugins/s3/api'
import { type Static, Type } from 'typebox'
import { requireCopySize } from '../copy-size.ts'
import { refuseCustomerKey } from './customer-key.ts'
import { describeStored, ObjectSummary } from './object-schema.ts'

const CopyRequest = Type.Object(
  {
    source: Type.Object({
      bucket: Type.String({ minLength: 1, maxLength: 255 }),
      key: ObjectKey,
      versionId: Type.Optional(VersionId),
      etag: Type.Optional(Type.String({ maxLength: 256, description: 'Fails with 412 if it has another one by now.' })),
    }),
    key: ObjectKey,
    move: Type.Boolean({ default: false, description: 'The source is deleted after the copy was stored.' }),
    overwrite: Type.Boolean({ default: true, description: 'False: fails with 412 if the object exists.' }),
    metadata: Type.Optional(Type.Object(metadataFields, { description: 'Absent: the metadata of the source.' })),
    tags: Type.Optional(newObjectFields.tags),
    storageClass: Type.Optional(newObjectFields.storageClass),
  },
  { $id: 'CopyRequest' },
)

type Request = AdminRequest<{ bucket: string }, object, Static<typeof CopyRequest>>

export default defineAdminOperation({
  id: 'copyObject',
  method: 'POST',
  path: '/buckets/{bucket}/objects/copy',
  tag: 'objects',
  summary:
    'Copies or moves an object, or copies one of its versions, to the bucket of the path. A version that is copied onto its own key becomes the newest one again. Locks are not copied. `If-Match` is of what is replaced.',
  authorize: 'service',
  params: BucketParameters,
  body: CopyRequest,
  response: ObjectSummary,
  etag: true,
  errors: [
    'bucket_not_found',
    'entity_too_large',
    'invalid_object_key',
    'object_not_found',
    'precondition_failed',
    'quota_exceeded',
    'version_not_found',
  ],
  uses: ['objects', 's3'],
  async handle(request, { objects, s3 }) {
    const { bucket, key, from, given } = readCopy(request)
    request.note({ source: `${from.bucket}/${from.key}` })
    const { move, overwrite, metadata, tags, storageClass } = request.body
    const { ifMatch } = request
    await requireActions(request)
    const { facts } = attributeRequirements(given)
    const isAllowed = (action: string) => request.isAllowed(action, bucket, key, facts)
    const replaced = s3.readAttributes({ bucket, key, headers: given, isAllowed })

    const source = await objects.getObject(from.bucket, from.key, from.versionId)
    if (source.isDeleteMarker) throw onDeleteMarker(source.versionId)
    if (from.etag !== undefined && unquoteEtag(from.etag) !== source.etag) throw adminErrors.precondition_failed()
    requireCopySize(source)
    refuseCustomerKey(source)
    const attributes: ObjectAttributes = {
      system: metadata === undefined ? source.system : replaced.system,
      user: metadata === undefined ? source.user : replaced.user,
      storageClass: storageClass === undefined ? source.storageClass : replaced.storageClass,
      tags: tags === undefined ? await copiedTags(request, source) : replaced.tags,
    }
    const stored = await objects.copyObject({
      source,
      bucket,
      key,
      attributes,
      checksumAlgorithm: source.checksum?.algorithm,
      conditions: { ...(!overwrite && { ifNoneMatch: '*' }), ...(ifMatch !== undefined && { ifMatch }) },
      origin: request.origin,
    })
    // Deletes only what was copied: if the source or its tags were replaced meanwhile, it stays, and the caller gets an error.
    if (move) {
      const { origin } = request
      const conditions = { ifSequence: source.sequence, ifTags: source.tags ?? new Map() }
      await objects.deleteObject(from.bucket, from.key, undefined, conditions, { origin })
    }
    return describeStored(key, stored, attributes)
  },
})

function readCopy({ params: { bucket }, body, normalizeKey }: Request) {
  const { source, metadata, tags, storageClass, move } = body
  const key = normalizeKey(body.key)
  const from = { ...source, key: normalizeKey(source.key) }
  requireKeyLength(key)
  requireKeyLength(from.key)
  const isSame = from.bucket === bucket && from.key === key
  if (move && from.versionId !== undefined) {
    throw invalidFields([{ element: '/move', message: 'is for objects; versions can only be copied' }])
  }
  const isChanged = metadata !== undefined || tags !== undefined || storageClass !== undefined
  if (isSame && (move || (from.versionId === undefined && !isChanged))) {
    throw invalidFields([{ element: '/key', message: 'is the key of the source, and nothing else would change' }])
  }
  return { bucket, key, from, given: headersOfFields({ ...metadata, tags, storageClass }) }
}

/** The same facts for policies as in CopyObject over S3. */
async function requireActions(request: Request): Promise<void> {
  const { bucket, key, from } = readCopy(request)
  const { bucket: sourceBucket, key: sourceKey, versionId } = from
  const { actions, facts, copySource } = factsOfCopy(request)
  const read = versionId === undefined ? 's3:GetObject' : 's3:GetObjectVersion'
  const source = {
    bucket: sourceBucket,
    isBucketNamed: true,
    key: sourceKey,
    versionId,
    facts: { versionId, copySource },
  }
  await request.authorize([read, ...(request.body.move ? ['s3:DeleteObject'] : [])], source)
  await request.authorize(['s3:PutObject', ...actions], {
    bucket,
    key,
    facts: { ...facts, copySource, createsObject: true },
  })
  // The outcome of `If-Match` reveals the ETag of the present object.
  if (request.ifMatch !== undefined) await request.authorize(['s3:GetObject'], { bucket, key })
}

function factsOfCopy(request: Request) {
  const { from, given } = readCopy(request)
  const directive = request.body.metadata === undefined ? 'COPY' : 'REPLACE'
  const requirements = attributeRequirements({ ...given, 'x-amz-metadata-directive': directive })
  return { ...requirements, copySource: `${from.bucket}/${from.key}` }
}

/** Policies may depend on tags: only callers who may read and write tags may copy them. */
async function copiedTags(request: Request, { tags }: ObjectVersion): Promise<ObjectAttributes['tags']> {
  if (tags === undefined || tags.size === 0) return undefined
  const { bucket, key, from } = readCopy(request)
  const { versionId } = from
  const action = versionId === undefined ? 's3:GetObjectTagging' : 's3:GetObjectVersionTagging'
  const { facts, copySource } = factsOfCopy(request)
  // The decision before knew no tags: those of the source are written like tags of the request.
  const written = { ...facts, copySource, createsObject: true, requestTags: () => tags }
  try {
    await request.authorize([action], { ...from, facts: { versionId } })
    await request.authorize(['s3:PutObject', 's3:PutObjectTagging'], { bucket, key, facts: written })
  } catch (error) {
    throw adminErrors.access_denied('You may not copy the tags of this object: send other tags, or none.', {
      cause: error,
    })
  }
  return tags
}
