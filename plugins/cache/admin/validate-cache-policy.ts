import { defineAdminOperation } from 'svc/plugins/admin/api'
import { Type } from 'typebox'
import { resolvePolicy } from '../policy/policy.ts'
import type {} from '../service.ts'
import { policyFields, readPolicy, requireOrder } from '../settings/fields.ts'
import { summaryOf } from '../settings/summary.ts'
import { CachePolicyInput, manage, readPolicyInput, shownPolicy } from './schemas.ts'

export default defineAdminOperation({
  id: 'validateCachePolicy',
  method: 'POST',
  path: '/cache/policies/validate',
  tag: 'cache',
  summary: 'Checks a cache policy without storing it, and tells what it comes to.',
  isSafe: true,
  authorize: manage,
  body: CachePolicyInput,
  response: Type.Object({
    policy: Type.Object(policyFields, { description: 'With every field; times in seconds.' }),
    cacheControl: Type.String({ description: '`Cache-Control` that clients get; empty: that of the object.' }),
    inherited: Type.Array(Type.String(), { description: 'Fields that are those of `standard`.' }),
    summary: Type.String(),
  }),
  errors: ['invalid_cache_request'],
  uses: ['cacheAdmin'],
  async handle({ body }) {
    const given = readPolicy(readPolicyInput(body).policy)
    const { policy, fields } = resolvePolicy({ cluster: given })
    requireOrder(policy, given, '')
    const inherited = [...fields].filter(([, level]) => level === 'default').map(([path]) => path)
    return {
      policy: shownPolicy(policy),
      cacheControl: policy.browserCacheControl,
      inherited,
      summary: summaryOf(policy),
    }
  },
})
