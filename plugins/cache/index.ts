/** The cache of answers: its engine, fences, settings, purges and operations. */
import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import 'svc/plugins/cluster-archive/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { keyNormalizer } from 'svc/plugins/objects/api'
import 'svc/plugins/queue/api'
import { noSecretReferences, referencedName } from 'svc/plugins/secret-references/api'
import createCachePolicy from './admin/create-cache-policy.ts'
import createDistributionInvalidation from './admin/create-distribution-invalidation.ts'
import createInvalidation from './admin/create-invalidation.ts'
import createWarmup from './admin/create-warmup.ts'
import deleteCachePolicy from './admin/delete-cache-policy.ts'
import getCachePolicy from './admin/get-cache-policy.ts'
import getCacheSettings from './admin/get-cache-settings.ts'
import getCacheStats from './admin/get-cache-stats.ts'
import getDistributionCache from './admin/get-distribution-cache.ts'
import getInvalidation from './admin/get-invalidation.ts'
import getWarmup from './admin/get-warmup.ts'
import inspectCache from './admin/inspect-cache.ts'
import listCachePolicies from './admin/list-cache-policies.ts'
import listInvalidations from './admin/list-invalidations.ts'
import putCachePolicy from './admin/put-cache-policy.ts'
import putCacheSettings from './admin/put-cache-settings.ts'
import putDistributionCache from './admin/put-distribution-cache.ts'
import validateCachePolicy from './admin/validate-cache-policy.ts'
import type { WarmOutcome } from './api.ts'
import { CacheConfig } from './config.ts'
import { createDerived } from './engine/derived.ts'
import { CacheEngine } from './engine/engine.ts'
import type { Holds } from './engine/storing.ts'
import { createFencing } from './fence/fencing.ts'
import { debugHeaders } from './inspect/debug.ts'
import { createInspect } from './inspect/inspect.ts'
import { countOrigins, registerFamilies } from './metrics.ts'
import { cachePoints } from './points.ts'
import { declarePurgeDocuments } from './purge/documents.ts'
import { createPurgeIntake, ruleOf } from './purge/intake.ts'
import { createPurges } from './purge/purges.ts'
import { createChangeRelay } from './purge/relay.ts'
import { applyMarks, countInTiers, countSelected, sweep, sweepTiers } from './purge/sweeping.ts'
import { createCacheAdmin } from './service.ts'
import { createArchiveParts } from './settings/archive-parts.ts'
import { createSettingsChanges } from './settings/changes.ts'
import { createConfigurations } from './settings/configuration.ts'
import { clusterId, declareCacheDocuments } from './settings/documents.ts'
import { createFormerSettings } from './settings/former.ts'
import { createCacheStaging } from './settings/staging.ts'
import { createCounters } from './stats/counters.ts'
import { createStats } from './stats/stats.ts'
import { createTierStack } from './tiers/stack.ts'
import { createFetching } from './warm/fetching.ts'
import { createOnWrite } from './warm/on-write.ts'
import { createWarmups } from './warm/warmups.ts'

const trimPauseMs = 600_000

export default definePlugin({
  name: 'cache',
  description: 'An HTTP cache that websites and other plugins serve through.',
  requires: ['storage', 'store', 'objects'],
  optional: ['distributions', 'metrics', 'queue', 'secretReferences'],
  provides: ['cache', 'cacheDocuments'],
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
      createWarmup,
      getWarmup,
    ],
  },
  config: CacheConfig,
  setup({ config, services, ports, threads, log, point, contribute, background }) {
    const { storage, store, distributions, metrics = noMetrics } = services
    const { secretReferences = noSecretReferences } = services
    const { clock } = ports
    const normalizeKey = keyNormalizer(config.keyNormalization)
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
    const intake = createPurgeIntake(purgeDocuments, log, normalizeKey)
    const frontCount = Math.max(1, threads.workerCount)
    const budgetBytes = threads.isFront ? Math.floor(config.memory / frontCount) : 0
    const holds: Holds = fences => fencing.fences().hold(fences)
    const deploymentId = async () => (await storage.drives()).find(one => one.deploymentId)?.deploymentId ?? ''
    const tierPoint = point('cache.tier')
    const behind = createTierStack({ point: tierPoint, threads, ports, log, metrics, holds, deploymentId })
    const engine = new CacheEngine({
      clock,
      log,
      budgetBytes,
      quotaShare: 1 / frontCount,
      holds,
      tiers: behind.tiers,
      counts: countOrigins(metrics),
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
      sweepTiers: () => sweepTiers(behind.tiers.all, intake.marks),
      async count(purge) {
        await intake.current()
        const rule = ruleOf(1, purge, log, normalizeKey)
        const own = await countSelected(engine.memory, intake.marks, rule)
        // Threads share the tiers.
        return threads.isMain ? own + (await countInTiers(behind.tiers.all, intake.marks, rule)) : own
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
        const tiers = behind.tiers.usage()
        return { hosts: counters.hosts(), top: counters.top(), ...memory, tiers, isFront: threads.isFront }
      },
    })
    const inspect = createInspect({
      threads,
      distributions,
      sites: point('cache.site'),
      memory: engine.memory,
      tiers: behind.tiers,
      now: clock.now,
      current: intake.current,
    })
    const warmed = metrics.counter({
      name: 'svc_cache_warmed_total',
      help: 'Pages that warm-ups and writes were to bring into the cache, by what became of them.',
      labels: ['result'],
    })
    const count = (result: WarmOutcome['result']) => warmed.inc({ result })
    const fetchBatch = createFetching({ threads, distributions, sites: point('cache.site') })
    const warmups = createWarmups({
      ...{ threads, ...ports, log, node, fetchBatch, distributions, normalizeKey, count },
      objects: services.objects,
    })
    const onWrite =
      services.queue &&
      createOnWrite({
        documents,
        distributions,
        topic: services.queue.topic('cache'),
        fetchBatch,
        log,
        normalizeKey,
        count,
      })
    if (onWrite !== undefined) contribute('cache.invalidation', 'warm', onWrite.subscriber)
    const configuration = createConfigurations(documents, log, normalizeKey, ({ quotas }) =>
      engine.memory.keepQuotas(quotas),
    )
    const settings = createSettingsChanges(store, documents, normalizeKey)
    for (const [name, part] of createArchiveParts({ documents, changes: settings, distributions, normalizeKey })) {
      contribute('archive.part', name, part, { optional: true })
    }
    contribute(
      'secretReferences.user',
      'cache',
      {
        async references() {
          const name = referencedName((await documents.settings.get(clusterId))?.value.debug.secret ?? '')
          return name === undefined ? [] : [{ name, user: 'the debug header of the cache' }]
        },
      },
      { optional: true },
    )
    registerFamilies({
      metrics,
      threads,
      stats,
      usage: () => engine.memory.usage,
      tiers: behind.tiers.usage,
      purgeCount,
    })
    background({ name: 'trim', pauseMs: trimPauseMs, work: purges.trim })
    const former = threads.isMain && distributions ? createFormerSettings(settings, distributions, log) : undefined
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
          debugHeaders: (request, read) => debugHeaders(request, read, node, secretReferences.resolve),
          usage: () => engine.memory.usage,
        },
        cacheDocuments: { stage: createCacheStaging(documents, webhooks, normalizeKey) },
      },
      internal: {
        cacheAdmin: createCacheAdmin({
          settings,
          purges,
          stats,
          inspect,
          mode: config.mode,
          webhooks,
          distributions,
          warmups,
          configuration,
          warmsOnWrite: onWrite !== undefined,
        }),
      },
      async start() {
        await fencing.start()
        await intake.start()
        await behind.start()
        if (threads.isMain) await relay.start()
      },
      async serve() {
        if (threads.isMain) await onWrite?.start()
        former?.start()
        await purges.serve()
      },
      async drain() {
        warmups.stop()
        await onWrite?.stop()
        await former?.stop()
      },
      async stop() {
        fencing.stop()
        relay.stop()
        purges.stop()
        await behind.stop()
      },
    }
  },
})
