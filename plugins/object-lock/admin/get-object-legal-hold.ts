import { BucketParameters, defineAdminOperation, objectParameters, readObjectParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { LegalHold } from './legal-hold-schema.ts'
import { readLock } from './read-lock.ts'

export default defineAdminOperation({
  id: 'getObjectLegalHold',
  method: 'GET',
  path: '/buckets/{bucket}/objects/legal-hold',
  tag: 'objects',
  summary: 'Returns whether an object is under a legal hold.',
  authorize: ['s3:GetObjectLegalHold'],
  authorizeRequest: request => ({ actions: ['s3:GetObjectLegalHold'], ...readObjectParameters(request) }),
  params: BucketParameters,
  query: Type.Object(objectParameters),
  response: LegalHold,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const lock = await readLock(objects, readObjectParameters(request))
    return { enabled: lock?.legalHold === true }
  },
})
