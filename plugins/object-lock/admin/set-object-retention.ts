import {
  BucketParameters,
  checkField,
  defineAdminOperation,
  invalidFields,
  objectParameters,
  readObjectParameters,
} from 'svc/plugins/admin/api'
import type { Retention as StoredRetention } from 'svc/plugins/objects/api'
import { type Static, Type } from 'typebox'
import { parseTime } from '../retention.ts'
import { describeRetention, Retention, SetRetention } from './retention-schema.ts'

export default defineAdminOperation({
  id: 'setObjectRetention',
  method: 'PUT',
  path: '/buckets/{bucket}/objects/retention',
  tag: 'objects',
  summary: 'Sets or changes the retention of an object; an empty mode removes it.',
  authorize: ['s3:PutObjectRetention'],
  authorizeRequest(request) {
    const { mode, retainUntil, bypassGovernance } = request.body
    return {
      actions: ['s3:PutObjectRetention', ...(bypassGovernance ? ['s3:BypassGovernanceRetention'] : [])],
      ...readObjectParameters(request),
      facts: { retention: { mode, retainUntilMs: retainUntil === null ? undefined : parseTime(retainUntil) } },
    }
  },
  params: BucketParameters,
  query: Type.Object(objectParameters),
  body: SetRetention,
  response: Retention,
  errors: ['bucket_not_found', 'invalid_object_key', 'object_locked', 'object_not_found', 'version_not_found'],
  uses: ['objects'],
  async handle(request, { objects }) {
    const { bucket, key, versionId } = readObjectParameters(request)
    const retention = readRetention(request.body)
    const { bypassGovernance } = request.body
    const change = { retention, bypassGovernance }
    await checkField('/retainUntil', () => objects.changeVersion(bucket, key, versionId, change, request.origin), [
      'InvalidArgument',
    ])
    return describeRetention({ retention: retention ?? undefined, legalHold: false })
  },
})

function readRetention({ mode, retainUntil }: Static<typeof SetRetention>): StoredRetention | null {
  if (mode === '') {
    if (retainUntil === null) return null
    throw invalidFields([{ element: '/mode', message: 'is missing' }])
  }
  if (retainUntil === null) {
    throw invalidFields([
      { element: '/retainUntil', message: `is missing: the time until which ${mode} keeps the object` },
    ])
  }
  const retainUntilMs = parseTime(retainUntil)
  if (retainUntilMs === undefined) {
    throw invalidFields([{ element: '/retainUntil', message: 'is not a time in ISO 8601' }])
  }
  return { mode, retainUntilMs }
}
