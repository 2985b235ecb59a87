import { defineAdminOperation } from 'svc/plugins/admin/api'
import type {} from '../service.ts'
import { CacheSettings, describeSettings, manage } from './schemas.ts'

export default defineAdminOperation({
  id: 'getCacheSettings',
  method: 'GET',
  path: '/cache/settings',
  tag: 'cache',
  summary: 'Returns the cache settings of the cluster; the debug secret is masked.',
  authorize: manage,
  response: CacheSettings,
  etag: true,
  uses: ['cacheAdmin'],
  handle: async (_request, { cacheAdmin: { settings } }) => describeSettings(await settings.settings()),
})
