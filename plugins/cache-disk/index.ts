/** The tier `disk` of the cache: a folder. */
import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/cache/api'
import type {} from 'svc/plugins/storage/api'
import { CacheDiskConfig } from './config.ts'
import { checkFolder } from './folder.ts'
import { createDiskKind } from './kind.ts'

export default definePlugin({
  name: 'cache-disk',
  description: 'Cached answers in a folder, behind those in memory.',
  requires: ['storage'],
  config: CacheDiskConfig,
  setup({ config, services: { storage }, threads, contribute }) {
    const deploymentId = async () =>
      (await storage.drives()).find(drive => drive.deploymentId !== undefined)?.deploymentId ?? ''
    contribute('cache.tier', 'disk', createDiskKind({ config, threads, deploymentId }), { optional: true })
    return {
      async inspect() {
        if (config.dir === undefined || !threads.isMain) return {}
        const state = await checkFolder(config.dir, undefined)
        return state === 'new' ? { plan: [`a cache of ${config.size} bytes is made in ${config.dir}`] } : {}
      },
    }
  },
})
