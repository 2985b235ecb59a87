import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../api.ts'
import { HealJob, HealJobParameters } from './heal-schema.ts'

export default defineAdminOperation({
  id: 'getHealJob',
  method: 'GET',
  path: '/heal/{id}',
  tag: 'server',
  summary: 'Returns a heal job.',
  authorize: ['admin:Heal'],
  params: HealJobParameters,
  response: HealJob,
  errors: ['heal_job_not_found'],
  uses: ['heal'],
  handle: ({ params }, { heal }) => heal.get(params.id),
})
