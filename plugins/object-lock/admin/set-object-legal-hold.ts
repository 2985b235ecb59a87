import { BucketParameters, defineAdminOperation, objectParameters, readObjectParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { LegalHold } from './legal-hold-schema.ts'

export default defineAdminOperation({
  id: 'setObjectLegalHold',
  method: 'PUT',
  path: '/buckets/{bucket}/objects/legal-hold',
  tag: 'objects',
  summary: 'Sets or removes the legal hold of an object.',
  authorize: ['s3:PutObjectLegalHold'],
  authorizeRequest: request => ({
    actions: ['s3:PutObjectLegalHold'],
    ...readObjectParameters(request),
    // Headers about retention mean nothing here.
    facts: { legalHold: request.body.enabled ? 'ON' : 'OFF', retention: {} },
  }),
  params: BucketParameters,
  query: Type.Object(objectParameters),
  body: LegalHold,
  response: LegalHold,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const { enabled } = request.body
    await objects.changeVersion(bucket, key, versionId, { legalHold: enabled }, request.origin)
    return { enabled }
  },
})
