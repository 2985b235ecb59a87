/** The cache of answers: its engine, and the extension point of its tiers. */
import { definePlugin } from 'svc/kernel'
import type {} from './api.ts'
import { CacheConfig } from './config.ts'
import { CacheEngine } from './engine/engine.ts'
import { cachePoints } from './points.ts'

export default definePlugin({
  name: 'cache',
  description: 'An HTTP cache that other plugins serve through.',
  provides: ['cache'],
  points: cachePoints,
  config: CacheConfig,
  setup({ config, ports, threads, log }) {
    const budgetBytes = Math.floor(config.memory / Math.max(1, threads.workerCount))
    return { services: { cache: new CacheEngine({ clock: ports.clock, log, budgetBytes }) } }
  },
})
