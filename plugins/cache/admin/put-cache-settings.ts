import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { CacheSettings, CacheSettingsInput, describeSettings, manage, readSettings } from './schemas.ts'

export default defineAdminOperation({
  id: 'putCacheSettings',
  method: 'PUT',
  path: '/cache/settings',
  tag: 'cache',
  summary: 'Replaces the cache settings of the cluster; in force on the next request.',
  authorize: manage,
  body: CacheSettingsInput,
  response: CacheSettings,
  etag: true,
  errors: ['cache_policy_not_found', 'invalid_cache_request', 'precondition_failed'],
  uses: ['cacheAdmin'],
  async handle({ body, ifMatch }, { cacheAdmin: { settings } }) {
    await settings.putSettings(readSettings(body), ifMatch)
    return describeSettings(await settings.settings())
  },
})
