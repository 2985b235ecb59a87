import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { noPolicy } from '../settings/checks.ts'
import { CachePolicy, describeBuiltIn, describePolicy, isBuiltIn, manage, PolicyParameters } from './schemas.ts'

export default defineAdminOperation({
  id: 'getCachePolicy',
  method: 'GET',
  path: '/cache/policies/{name}',
  tag: 'cache',
  summary: 'Returns a cache policy; of a built-in one every field.',
  authorize: manage,
  params: PolicyParameters,
  response: CachePolicy,
  etag: true,
  errors: ['cache_policy_not_found'],
  uses: ['cacheAdmin'],
  async handle({ params: { name } }, { cacheAdmin: { settings } }) {
    if (isBuiltIn(name)) return describeBuiltIn(name)
    const found = await settings.policy(name)
    if (found === undefined) throw noPolicy(name)
    return describePolicy(found)
  },
})
