import { checkField, defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { CachePolicy, CachePolicyInput, describePolicy, manage, readPolicyInput } from './schemas.ts'

export default defineAdminOperation({
  id: 'createCachePolicy',
  method: 'POST',
  path: '/cache/policies',
  tag: 'cache',
  summary: 'Creates a cache policy. Fields that it leaves out are those of `standard`.',
  authorize: manage,
  body: CachePolicyInput,
  response: CachePolicy,
  location: ({ name }) => `/cache/policies/${name}`,
  etag: true,
  errors: ['already_exists', 'builtin_cache_policy', 'invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle({ body }, { cacheAdmin: { settings } }) {
    const input = readPolicyInput(body)
    await checkField('/name', () => settings.putPolicy(body.name, input, { isNew: true }), [
      'already_exists',
      'builtin_cache_policy',
    ])
    return describePolicy((await settings.policy(body.name))!)
  },
})
