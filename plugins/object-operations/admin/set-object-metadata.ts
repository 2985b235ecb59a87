import { isCatalogError } from 'svc/kernel'
import {
  adminErrors,
  BucketParameters,
  checkField,
  defineAdminOperation,
  headersOfFields,
  metadataFields,
  ObjectKey,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import { onDeleteMarker } from 'svc/plugins/objects/api'
import { type Static, Type } from 'typebox'
import { requireCopySize } from '../copy-size.ts'
import { refuseCustomerKey } from './customer-key.ts'
import { describeStored, etagOfMetadata, ObjectSummary } from './object-schema.ts'

const attemptsMax = 8

const ObjectMetadata = Type.Object(metadataFields, { $id: 'ObjectMetadata' })

export default defineAdminOperation({
  id: 'setObjectMetadata',
  method: 'PUT',
  path: '/buckets/{bucket}/objects/metadata',
  tag: 'objects',
  summary:
    'Replaces the type, the other headers and the user metadata of an object: missing fields are removed. With versioning this creates a new version. The ETag is `metadataEtag` of `statObject`, or that of the content.',
  authorize: ['s3:GetObject', 's3:PutObject'],
  authorizeRequest(request) {
    const { bucket, key } = readObjectParameters(request)
    return { actions: ['s3:GetObject', 's3:PutObject'], bucket, key, facts: factsOf(bucket, key, request.body) }
  },
  params: BucketParameters,
  query: Type.Object({ key: ObjectKey }),
  body: ObjectMetadata,
  response: ObjectSummary,
  etag: true,
  errors: [
    'bucket_not_found',
    'entity_too_large',
    'invalid_object_key',
    'object_not_found',
    'precondition_failed',
    'quota_exceeded',
  ],
  uses: ['objects', 's3'],
  async handle(request, { objects, s3 }) {
    const { bucket, key } = readObjectParameters(request)
    const { ifMatch, origin } = request
    const headers = headersOfFields(request.body)
    const isAllowed = (action: string) => request.isAllowed(action, bucket, key)
    const { system, user } = checkField('/userMetadata', () => s3.readAttributes({ bucket, key, headers, isAllowed }), [
      'MetadataTooLarge',
    ])
    for (let attempt = 1; ; attempt++) {
      const source = await objects.getObject(bucket, key)
      if (source.isDeleteMarker) throw onDeleteMarker(source.versionId)
      requireCopySize(source)
      refuseCustomerKey(source)
      if (![undefined, '*', source.etag, etagOfMetadata(source)].includes(ifMatch))
        throw adminErrors.precondition_failed()
      const { tags, storageClass, acl } = source
      if (tags !== undefined && tags.size > 0) {
        // The new version has these tags, which the decision before did not know.
        const facts = { ...factsOf(bucket, key, request.body), requestTags: () => tags }
        await request.authorize(['s3:PutObject'], { bucket, key, facts })
      }
      const { websiteRedirectLocation } = source.system
      const attributes = { system: { ...system, websiteRedirectLocation }, user, tags, storageClass, acl }
      try {
        // No content and no tags that were stored meanwhile are undone; nor, for whoever names what they have seen, is anything else.
        const isSeen = ifMatch !== undefined && ifMatch !== '*'
        const conditions = {
          ifMatch: source.etag,
          ifTags: tags ?? new Map(),
          ...(isSeen && { ifSequence: source.sequence }),
        }
        const checksumAlgorithm = source.checksum?.algorithm
        const given = { attributes, checksumAlgorithm, conditions, origin }
        const stored = await objects.copyObject({ source, bucket, key, ...given })
        return describeStored(key, stored, attributes)
      } catch (error) {
        const isChanged = isCatalogError(error) && error.code === 'PreconditionFailed'
        if (!isChanged || attempt === attemptsMax) throw error
      }
    }
  },
})

function factsOf(bucket: string, key: string, fields: Static<typeof ObjectMetadata>) {
  const headers = { ...headersOfFields(fields), 'x-amz-metadata-directive': 'REPLACE' }
  return { headers, copySource: `${bucket}/${key}`, createsObject: true }
}
