/** The families of this plugin that are read at a scrape. */
import type { Threads } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { createStats } from './stats/stats.ts'

export interface FamiliesOptions {
  readonly metrics: MetricsService
  readonly threads: Threads
  readonly stats: ReturnType<typeof createStats>
  /** Of this thread. */
  readonly usage: () => { readonly entries: number; readonly bytes: number; readonly evictions: number }
  readonly purgeCount: () => Promise<number>
}

export function registerFamilies({ metrics, threads, stats, usage, purgeCount }: FamiliesOptions): void {
  metrics.gauge({
    name: 'svc_cache_size_bytes',
    help: 'Bytes of cached answers, with what they need beside their bodies.',
    labels: ['tier'],
    collect: gauge => gauge.set({ tier: 'memory' }, usage().bytes),
  })
  metrics.gauge({
    name: 'svc_cache_entries',
    help: 'Cached answers and blocks.',
    labels: ['tier'],
    collect: gauge => gauge.set({ tier: 'memory' }, usage().entries),
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
