import { adminErrors, checkField, defineAdminOperation, replyWith } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { HealJob, HealRequest } from './heal-schema.ts'

export default defineAdminOperation({
  id: 'startHeal',
  method: 'POST',
  path: '/heal',
  tag: 'server',
  summary:
    'Starts a heal job, or returns the identical running one (200). A deployment with a single drive cannot heal: 501.',
  authorize: ['admin:Heal'],
  body: HealRequest,
  bodyOptional: true,
  response: HealJob,
  isJob: true,
  errors: ['bucket_not_found', 'not_implemented', 'too_many_requests'],
  uses: ['objects', 'heal'],
  async handle({ body, origin }, { objects, heal }) {
    const { bucket, prefix = '' } = body
    if (bucket !== undefined) await checkField('/bucket', () => objects.getBucket(bucket))
    else if (prefix !== '') throw adminErrors.invalid_argument('/prefix: it needs a bucket.')
    const { job, isNew } = await heal.start(body, origin)
    return isNew ? job : replyWith(job, { status: 200 })
  },
})
