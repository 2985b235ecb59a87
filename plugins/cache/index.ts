/** The cache of answers: its engine, fences, settings, purges and operations. */
import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import createCachePolicy from './admin/create-cache-policy.ts'
import createDistributionInvalidation from './admin/create-distribution-invalidation.ts'
import createInvalidation from './admin/create-invalidation.ts'
import deleteCachePolicy from './admin/delete-cache-policy.ts'
import getCachePolicy from './admin/get-cache-policy.ts'
import getCacheSettings from './admin/get-cache-settings.ts'
import getCacheStats from './admin/get-cache-stats.ts'
import getDistributionCache from './admin/get-distribution-cache.ts'
import getInvalidation from './admin/get-invalidation.ts'
import inspectCache from './admin/inspect-cache.ts'
import listCachePolicies from './admin/list-cache-policies.ts'
import listInvalidations from './admin/list-invalidations.ts'
import putCachePolicy from './admin/put-cache-policy.ts'
import putCacheSettings from './admin/put-cache-settings.ts'
import putDistributionCache from './admin/put-distribution-cache.ts'
import validateCachePolicy from './admin/validate-cache-policy.ts'
import type {} from './api.ts'
import { CacheConfig } from './config.ts'
import { createDerived } from './engine/derived.ts'
import { CacheEngine } from './engine/engine.ts'
import { createFencing } from './fence/fencing.ts'
import { debugHeaders } from './inspect/debug.ts'
import { createInspect } from './inspect/inspect.ts'
import { registerFamilies } from './metrics.ts'
import { cachePoints } from './points.ts'
import { declarePurgeDocuments } from './purge/documents.ts'
import { createPurgeIntake, ruleOf } from './purge/intake.ts'
import { createPurges } from './purge/purges.ts'
import { createChangeRelay } from './purge/relay.ts'
import { applyMarks, countSelected, sweep } from './purge/sweeping.ts'
import { createCacheAdmin } from './service.ts'
import { createSettingsChanges } from './settings/changes.ts'
import { createConfigurations } from './settings/configuration.ts'
import { declareCacheDocuments } from './settings/documents.ts'
import { createCounters } from './stats/counters.ts'
import { createStats } from './stats/stats.ts'

const trimPauseMs = 600_000

export default definePlugin({
  name: 'cache',
  description: 'An HTTP cache that websites and other plugins serve through.',
  requires: ['storage', 'store', 'objects'],
  optional: ['distributions', 'metrics'],
  provides: ['cache'],
  internal: ['cacheAdmin'],
  points: cachePoints,
  contributes: {
    'admin.operation': [
      listCachePolicies,
      createCachePolicy,
      getCachePolicy,
      putCachePolicy,
      deleteCachePolicy,
      validateCachePolicy,
      getCacheSettings,
      putCacheSettings,
      inspectCache,
      getCacheStats,
      createInvalidation,
      listInvalidations,
      getInvalidation,
      createDistributionInvalidation,
      getDistributionCache,
      putDistributionCache,
    ],
  },
  config: CacheConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { storage, store, distributions, metrics = noMetrics } = services
    const { clock } = ports
    const documents = declareCacheDocuments(store)
    const purgeDocuments = declarePurgeDocuments(store)
    const subscribers = point('cache.invalidation')
    const webhookPoint = point('cache.webhook')
    const webhooks = () => webhookPoint.list()[0]?.value
    const node = hostname()
    const relay = createChangeRelay(distributions, () => subscribers.list().map(({ value }) => value), log)
    const fencing = createFencing({ storage, threads, log, relay })
    storage.define(fencing.procedures)
    contribute('object.observer', 'cache', fencing.observer)
    const intake = createPurgeIntake(purgeDocuments, log)
    const budgetBytes = threads.isFront ? Math.floor(config.memory / Math.max(1, threads.workerCount)) : 0
    const engine = new CacheEngine({
      clock,
      log,
      budgetBytes,
      holds: fences => fencing.fences().hold(fences),
      purges: {
        get sequence() {
          return intake.marks.sequence
        },
        current: intake.current,
        isDead: ({ key }, variant) => applyMarks(intake.marks, variant, key.host) !== undefined,
      },
    })
    const counters = createCounters(metrics)
    const purges = createPurges({
      store,
      documents: purgeDocuments,
      threads,
      clock,
      log,
      node,
      async sweep() {
        await intake.current()
        return sweep(engine.memory, intake.marks)
      },
      async count(purge) {
        await intake.current()
        return countSelected(engine.memory, intake.marks, ruleOf(1, purge, log))
      },
      async tell(invalidations) {
        for (const { value } of subscribers.list()) for (const one of invalidations) await value.requested(one)
      },
    })
    const purgeCount = async () => (await purgeDocuments.heads.get('head'))?.value.number ?? 0
    const stats = createStats({
      threads,
      node,
      mode: config.mode,
      invalidations: purgeCount,
      webhookQueue: async () => (await webhooks()?.queued()) ?? 0,
      own: () => {
        const { entries, bytes, evictions } = engine.memory.usage
        const memory = { entries, memoryBytes: bytes, evictions, memoryLimitBytes: budgetBytes }
        return { hosts: counters.hosts(), top: counters.top(), ...memory, isFront: threads.isFront }
      },
    })
    const inspect = createInspect({
      threads,
      distributions,
      sites: point('cache.site'),
      memory: engine.memory,
      now: clock.now,
      current: intake.current,
    })
    const configuration = createConfigurations(documents, log)
    registerFamilies({ metrics, threads, stats, usage: () => engine.memory.usage, purgeCount })
    background({ name: 'trim', pauseMs: trimPauseMs, work: purges.trim })
    return {
      services: {
        cache: {
          serve: (request, origin) => engine.serve(request, origin),
          lookup: (request, origin) => engine.lookup(request, origin),
          derived: createDerived(engine.memory),
          watch: fencing.arm,
          fence: (bucket, key) => fencing.fences().take(bucket, key),
          served: counters.served,
          configuration,
          debugHeaders: (request, read) => debugHeaders(request, read, node),
          usage: () => engine.memory.usage,
        },
      },
      internal: {
        cacheAdmin: createCacheAdmin({
          settings: createSettingsChanges(store, documents),
          purges,
          stats,
          inspect,
          mode: config.mode,
          webhooks,
          distributions,
        }),
      },
      async start() {
        await fencing.start()
        await intake.start()
        if (threads.isMain) await relay.start()
      },
      serve: purges.serve,
      stop() {
        fencing.stop()
        relay.stop()
        purges.stop()
      },
    }
  },
})
