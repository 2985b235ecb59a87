import { defineAdminOperation } from 'svc/plugins/admin/api'
import { invalidRequest } from '../errors.ts'
import type {} from '../service.ts'
import { CachePolicy, CachePolicyInput, describePolicy, manage, PolicyParameters, readPolicyInput } from './schemas.ts'

export default defineAdminOperation({
  id: 'putCachePolicy',
  method: 'PUT',
  path: '/cache/policies/{name}',
  tag: 'cache',
  summary: 'Replaces a cache policy as a whole; what was cached under it is not used any more.',
  authorize: manage,
  params: PolicyParameters,
  body: CachePolicyInput,
  response: CachePolicy,
  etag: true,
  errors: ['builtin_cache_policy', 'cache_policy_not_found', 'invalid_cache_request', 'precondition_failed'],
  uses: ['cacheAdmin'],
  async handle({ params: { name }, body, ifMatch }, { cacheAdmin: { settings } }) {
    if (body.name !== name) throw invalidRequest('/name', 'is not the name of the path')
    await settings.putPolicy(name, readPolicyInput(body), { isNew: false, ...(ifMatch !== undefined && { ifMatch }) })
    return describePolicy((await settings.policy(name))!)
  },
})
