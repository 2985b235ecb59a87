/** The cache of answers: its engine, fences and tiers. */
import { definePlugin } from 'svc/kernel'
import type {} from './api.ts'
import { CacheConfig } from './config.ts'
import { createDerived } from './engine/derived.ts'
import { CacheEngine } from './engine/engine.ts'
import { createFencing } from './fence/fencing.ts'
import { cachePoints } from './points.ts'
import { createConfigurations } from './settings/configuration.ts'
import { declareCacheDocuments } from './settings/documents.ts'

export default definePlugin({
  name: 'cache',
  description: 'An HTTP cache that websites and other plugins serve through.',
  requires: ['storage', 'store', 'objects'],
  provides: ['cache'],
  points: cachePoints,
  config: CacheConfig,
  setup({ config, services, ports, threads, log, contribute }) {
    const { storage, store } = services
    const documents = declareCacheDocuments(store)
    const configuration = createConfigurations(documents, log)
    const fencing = createFencing({ storage, threads, log })
    storage.define(fencing.procedures)
    contribute('object.observer', 'cache', fencing.observer)
    const engine = new CacheEngine({
      clock: ports.clock,
      log,
      budgetBytes: Math.floor(config.memory / Math.max(1, threads.workerCount)),
      holds: fences => fencing.fences().hold(fences),
    })
    return {
      services: {
        cache: {
          serve: (request, origin) => engine.serve(request, origin),
          lookup: (request, origin) => engine.lookup(request, origin),
          derived: createDerived(engine.memory),
          watch: fencing.arm,
          fence: (bucket, key) => fencing.fences().take(bucket, key),
          configuration,
          usage: () => engine.memory.usage,
        },
      },
      start: fencing.start,
      stop: fencing.stop,
    }
  },
})
