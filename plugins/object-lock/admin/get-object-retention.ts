import { BucketParameters, defineAdminOperation, objectParameters, readObjectParameters } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { readLock } from './read-lock.ts'
import { describeRetention, Retention } from './retention-schema.ts'

export default defineAdminOperation({
  id: 'getObjectRetention',
  method: 'GET',
  path: '/buckets/{bucket}/objects/retention',
  tag: 'objects',
  summary: 'Returns the retention of an object: its time and its mode.',
  authorize: ['s3:GetObjectRetention'],
  authorizeRequest: request => ({ actions: ['s3:GetObjectRetention'], ...readObjectParameters(request) }),
  params: BucketParameters,
  query: Type.Object(objectParameters),
  response: Retention,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  handle: async (request, { objects }) => describeRetention(await readLock(objects, readObjectParameters(request))),
})
