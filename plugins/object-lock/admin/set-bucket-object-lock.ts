import {
  adminErrors,
  authorizeChange,
  BucketParameters,
  checkField,
  defineAdminOperation,
  invalidFields,
} from 'svc/plugins/admin/api'
import type { BucketLock } from 'svc/plugins/objects/api'
import type { Static } from 'typebox'
import { requirePeriod } from '../retention.ts'
import { ObjectLock, replyWithObjectLock } from './object-lock-schema.ts'

export default defineAdminOperation({
  id: 'setBucketObjectLock',
  method: 'PUT',
  path: '/buckets/{bucket}/objectlock',
  tag: 'buckets',
  summary:
    'Enables object lock on a bucket with versioning, and sets or removes its default retention. Object lock cannot be disabled.',
  authorize: ['s3:PutBucketObjectLockConfiguration'],
  authorizeRequest: authorizeChange('s3:PutBucketObjectLockConfiguration', 's3:GetBucketObjectLockConfiguration'),
  params: BucketParameters,
  body: ObjectLock,
  response: ObjectLock,
  etag: true,
  errors: ['bucket_not_found', 'conflict', 'precondition_failed'],
  uses: ['objects'],
  async handle({ params: { bucket }, body, ifMatch }, { objects }) {
    const objectLock = readLock(body)
    if (body.enabled)
      return replyWithObjectLock(await objects.changeBucket(bucket, { objectLock, ifMatch: { objectLock: ifMatch } }))
    const current = await objects.getBucket(bucket)
    if (current.objectLock !== undefined) throw adminErrors.conflict('Object lock is enabled and cannot be disabled.')
    return replyWithObjectLock(current)
  },
})

function readLock({ enabled, mode, days, years }: Static<typeof ObjectLock>): BucketLock {
  const hasPeriod = days !== undefined || years !== undefined
  if (mode === undefined) {
    if (hasPeriod) throw invalidFields([{ element: '/mode', message: 'is missing' }])
    return {}
  }
  if (!enabled) throw invalidFields([{ element: '/mode', message: 'needs object lock to be enabled' }])
  if ((days === undefined) === (years === undefined)) {
    throw invalidFields([{ element: '/days', message: 'or /years must be given, and not both' }])
  }
  const period =
    days === undefined
      ? { years: checkField('/years', () => requirePeriod('years', years!)) }
      : { days: checkField('/days', () => requirePeriod('days', days)) }
  return { defaultRetention: { mode, ...period } }
}
