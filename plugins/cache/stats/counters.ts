/** Counts the answers of this thread, by host and result, and its most requested pages. */
import type { Counter } from 'prom-client'
import type { MetricFamilies } from 'svc/plugins/metrics/api'
import type { CacheResult, Served } from '../api.ts'
import type { NamedUsage } from '../tiers/tiers.ts'
import { TopList } from './top-list.ts'

export interface HostCounts {
  readonly distribution: string
  readonly host: string
  readonly requests: Record<string, number>
  bytesCache: number
  bytesOrigin: number
}

export interface ThreadStats {
  readonly hosts: readonly HostCounts[]
  readonly top: readonly {
    readonly distribution: string
    readonly host: string
    readonly path: string
    readonly requests: number
    readonly misses: number
  }[]
  readonly entries: number
  readonly memoryBytes: number
  readonly memoryLimitBytes: number
  readonly evictions: number
  readonly tiers: readonly NamedUsage[]
  readonly isFront: boolean
}

const fromCache: ReadonlySet<CacheResult> = new Set<CacheResult>(['HIT', 'STALE', 'REVALIDATED'])
/** Most hosts that are counted: aliases of all distributions. */
const hostsMax = 10_000

/** The counts of a host with its metric counters: finding one by its labels takes as long as everything else here. */
interface KeptCounts extends HostCounts {
  readonly counters: Map<CacheResult, Counter.Internal>
  /** False: there are `hostsMax` hosts already; only the metrics count this one. */
  isKept: boolean
}

export interface CacheCounters {
  served(served: Served): void
  hosts(): readonly HostCounts[]
  top(): ThreadStats['top']
}

export function createCounters(metrics: MetricFamilies): CacheCounters {
  /** Counts by distribution, then by host. */
  const hosts = new Map<string, Map<string, KeptCounts>>()
  let hostCount = 0
  const pages = new TopList<KeptCounts>()
  const requests = metrics.counter({
    name: 'svc_cache_requests_total',
    help: 'Requests of distributions by what the cache did; host is the alias.',
    labels: ['distribution', 'host', 'result'],
  })
  const bytesServed = metrics.counter({
    name: 'svc_cache_bytes_served_total',
    help: 'Bytes of bodies that distributions have sent, by where they were: memory, the name of a tier of the cache, or origin, the bucket.',
    labels: ['source'],
  })

  /** Counters by source: memory, tiers, origin. */
  const bytesOf = new Map<string, Counter.Internal>()

  function countBytes(source: string, bytes: number): void {
    let counter = bytesOf.get(source)
    if (counter === undefined) {
      counter = bytesServed.labels({ source })
      bytesOf.set(source, counter)
    }
    counter.inc(bytes)
  }

  function count({ distribution, host, counters }: KeptCounts, result: CacheResult): void {
    let counter = counters.get(result)
    if (counter === undefined) {
      counter = requests.labels({ distribution, host, result: result.toLowerCase() })
      counters.set(result, counter)
    }
    counter.inc()
  }

  function countsOf(distribution: string, host: string): KeptCounts {
    return hosts.get(distribution)?.get(host) ?? begin(distribution, host)
  }

  function begin(distribution: string, host: string): KeptCounts {
    const counts = {
      distribution,
      host,
      requests: {},
      bytesCache: 0,
      bytesOrigin: 0,
      counters: new Map(),
      isKept: false,
    }
    if (hostCount >= hostsMax) return counts
    counts.isKept = true
    let ofDistribution = hosts.get(distribution)
    if (ofDistribution === undefined) {
      ofDistribution = new Map()
      hosts.set(distribution, ofDistribution)
    }
    ofDistribution.set(host, counts)
    hostCount++
    return counts
  }

  return {
    served({ distribution, alias, path, result, sentBytes, source }) {
      const counts = countsOf(distribution, alias)
      counts.requests[result] = (counts.requests[result] ?? 0) + 1
      const isCached = fromCache.has(result)
      if (isCached) counts.bytesCache += sentBytes
      else counts.bytesOrigin += sentBytes
      count(counts, result)
      if (sentBytes > 0) countBytes(isCached ? source : 'origin', sentBytes)
      if (result !== 'BYPASS' && counts.isKept) pages.add(counts, path, !isCached)
    },
    hosts: () =>
      // Without the metric counters: the result is sent to other threads.
      [...hosts.values()].flatMap(byHost =>
        [...byHost.values()].map(({ counters: _, isKept: __, ...counts }) => counts),
      ),
    top: () =>
      pages.entries().map(([{ distribution, host }, path, counted]) => ({ distribution, host, path, ...counted })),
  }
}

/** Share of hits among all results but BYPASS; 0 without requests. */
export function hitRatioOf(requests: Readonly<Record<string, number>>): number {
  const count = (...results: CacheResult[]) => results.reduce((sum, result) => sum + (requests[result] ?? 0), 0)
  const all = count('HIT', 'MISS', 'STALE', 'EXPIRED', 'REVALIDATED')
  return all === 0 ? 0 : count('HIT', 'STALE', 'REVALIDATED') / all
}
