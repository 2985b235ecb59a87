import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { manage, PolicyParameters } from './schemas.ts'

export default defineAdminOperation({
  id: 'deleteCachePolicy',
  method: 'DELETE',
  path: '/cache/policies/{name}',
  tag: 'cache',
  summary: 'Deletes a cache policy that nothing names.',
  authorize: manage,
  params: PolicyParameters,
  etag: true,
  errors: ['builtin_cache_policy', 'cache_policy_in_use', 'cache_policy_not_found', 'precondition_failed'],
  uses: ['cacheAdmin'],
  handle: ({ params: { name }, ifMatch }, { cacheAdmin: { settings } }) => settings.deletePolicy(name, ifMatch),
})
