import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { HealJob, HealJobParameters } from './heal-schema.ts'

export default defineAdminOperation({
  id: 'cancelHealJob',
  method: 'POST',
  path: '/heal/{id}/cancel',
  tag: 'server',
  summary: 'Cancels a heal job. Objects that it has healed stay healed.',
  authorize: ['admin:Heal'],
  params: HealJobParameters,
  response: HealJob,
  errors: ['conflict', 'heal_job_not_found'],
  uses: ['heal'],
  handle: ({ params }, { heal }) => heal.cancel(params.id),
})
