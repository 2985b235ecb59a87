/** The tier `disk` of the cache, which keeps answers in a folder. */
import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/cache/api'
import { CacheDiskConfig, sizeDefault, validateCacheDiskConfig } from './config.ts'
import { checkFolder } from './folder.ts'
import { createDiskKind } from './kind.ts'

export default definePlugin({
  name: 'cache-disk',
  description: 'Cached answers in a folder, behind those in memory.',
  config: CacheDiskConfig,
  validate: validateCacheDiskConfig,
  setup({ config, threads, contribute }) {
    contribute('cache.tier', 'disk', createDiskKind(config, threads), { optional: true })
    const inspect = async ({ dir, size = sizeDefault }: CacheDiskConfig) => {
      if (dir === undefined || !threads.isMain) return {}
      const state = await checkFolder(dir, undefined)
      return state === 'new' ? { plan: [`a cache of ${size} bytes is made in ${dir}`] } : {}
    }
    return { inspect: () => inspect(config), inspectRestart: inspect }
  },
})
