/** The metric families of this plugin, beside those of requests (`stats/counters.ts`). */
import type { Threads } from 'svc/kernel'
import type { MetricFamilies, MetricsService } from 'svc/plugins/metrics/api'
import type { TierUsage } from './api.ts'
import type { OriginCounts } from './engine/reads.ts'
import type { createStats } from './stats/stats.ts'
import type { NamedUsage } from './tiers/tiers.ts'

export interface FamiliesOptions {
  readonly metrics: MetricsService
  readonly threads: Threads
  readonly stats: ReturnType<typeof createStats>
  /** Usage of this thread's memory. */
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
      gauge.set((await stats({ distribution: undefined, host: undefined, top: 0, shows: () => true })).hitRatio)
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

export function countOrigins(metrics: MetricFamilies): OriginCounts {
  const fills = metrics.counter({
    name: 'svc_cache_fills_total',
    help: 'Answers that were read from the bucket for the cache: stored, passed (not kept), failed.',
    labels: ['result'],
  })
  const confirms = metrics.counter({
    name: 'svc_cache_confirms_total',
    help: 'Cached answers that the bucket was asked about: same, other (it was changed), failed.',
    labels: ['result'],
  })
  return {
    fill: result => fills.inc({ result }),
    confirm: result => confirms.inc({ result }),
  }
}
