import { definePlugin } from 'svc/kernel'
// For their types only: they declare the extension point `cache.tier`.
import type {} from 'svc/plugins/cache/api'
import { CacheKeyvConfig } from './config.ts'
import { createKeyvTier } from './tier.ts'

export default definePlugin({
  name: 'cache-keyv',
  description: 'Cached answers in a server for keys and values, such as Redis.',
  version: '0.1.0',
  config: CacheKeyvConfig,
  setup({ config, threads, contribute }) {
    contribute(
      'cache.tier',
      'keyv',
      {
        isConfigured: config.url !== undefined && threads.isFront,
        budgetBytes: config.size,
        create: ({ budgetBytes, ...context }) =>
          createKeyvTier({
            ...context,
            config,
            budgetBytes: Math.floor(budgetBytes / Math.max(1, threads.workerCount)),
          }),
      },
      { optional: true },
    )
    return {}
  },
})
