/** The families of this plugin that are read at a scrape. */
import type { Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { TierUsage } from './api.ts'
import type { createStats } from './stats/stats.ts'
import type { NamedUsage } from './tiers/tiers.ts'

export interface FamiliesOptions {
  readonly metrics: MetricsService
  readonly threads: Threads
  readonly stats: ReturnType<typeof createStats>
  /** Of this thread. */
  readonly usage: () => TierUsage
  readonly tiers: () => readonly NamedUsage[]
  readonly purgeCount: () => Promise<number>
}

export function registerFamilies({ metrics, threads, stats, usage, tiers, purgeCount }: FamiliesOptions): void {
  const usages = () => [{ tier: 'memory', ...usage() }, ...tiers()]
  metrics.gauge({
    name: 'svc_cache_size_bytes',
    help: 'Bytes of cached answers, with what they need beside their bodies.',
    labels: ['tier'],
    collect(gauge) {
      for (const { tier, bytes } of usages()) gauge.set({ tier }, bytes)
    },
  })
  metrics.gauge({
    name: 'svc_cache_entries',
    help: 'Cached answers and blocks.',
    labels: ['tier'],
    collect(gauge) {
      for (const { tier, entries } of usages()) gauge.set({ tier }, entries)
    },
  })
  if (!threads.isMain) return
  metrics.gauge({
    name: 'svc_cache_hit_ratio',
    help: 'Answers from the cache (hit, stale, revalidated) of all but bypassed ones, since the start.',
    async collect(gauge) {
      gauge.set((await stats({ distribution: undefined, host: undefined, top: 0 })).hitRatio)
    },
  })
  metrics.counter({
    name: 'svc_cache_invalidations_total',
    help: 'Invalidations that somebody has requested, since the deployment was created.',
    async collect(counter) {
      counter.reset()
      counter.inc(await purgeCount())
    },
  })
}
