/** Sums the statistics of all threads of the node. */
import type { Threads } from 'svc/kernel'
import type { NamedUsage } from '../tiers/tiers.ts'
import { type HostCounts, hitRatioOf, type ThreadStats } from './counters.ts'

export interface StatsRequest {
  readonly distribution: string | undefined
  readonly host: string | undefined
  readonly top: number
  /** Whether hosts and pages of this distribution are told. Sums without a filter count all. */
  readonly shows: (distribution: string) => boolean
}

export interface StatsOptions {
  readonly threads: Threads
  readonly node: string
  readonly mode: string
  readonly own: () => ThreadStats
  readonly invalidations: () => Promise<number>
  readonly webhookQueue: () => Promise<number>
}

const statsMessage = 'cache.stats'

export function createStats({ threads, node, mode, own, invalidations, webhookQueue }: StatsOptions) {
  threads.handle(statsMessage, own)

  return async function stats({ distribution, host, top, shows }: StatsRequest) {
    const all = [own(), ...(await threads.callOthers<ThreadStats>(statsMessage))]
    const isFiltered = distribution !== undefined || host !== undefined
    const isShown = (one: { readonly distribution: string; readonly host: string }) =>
      (distribution === undefined || one.distribution === distribution) &&
      (host === undefined || one.host === host) &&
      shows(one.distribution)
    // With a filter the sums would tell what the list leaves out.
    const hosts = sumOf(all.flatMap(one => (isFiltered ? one.hosts.filter(isShown) : one.hosts)))
    const requests: Record<string, number> = {}
    for (const one of hosts)
      for (const [result, count] of Object.entries(one.requests)) requests[result] = (requests[result] ?? 0) + count
    const sum = (read: (one: ThreadStats) => number) => all.reduce((total, one) => total + read(one), 0)
    const sumHosts = (read: (one: HostCounts) => number) => hosts.reduce((total, one) => total + read(one), 0)
    const tiers = tiersOf(all.flatMap(one => one.tiers))
    const sumTiers = (read: (one: NamedUsage) => number) => tiers.reduce((total, one) => total + read(one), 0)
    const counters = {
      requests,
      bytesCache: sumHosts(one => one.bytesCache),
      bytesOrigin: sumHosts(one => one.bytesOrigin),
      hitRatio: hitRatioOf(requests),
      entries: sum(one => one.entries) + sumTiers(one => one.entries),
      memoryBytes: sum(one => one.memoryBytes),
      diskBytes: sumTiers(one => one.bytes),
    }
    const pages = pagesOf(all.flatMap(one => one.top.filter(isShown)))
    const topOf = (read: (one: ThreadStats['top'][number]) => number) =>
      pages
        .filter(one => read(one) > 0)
        .sort((a, b) => read(b) - read(a))
        .slice(0, top)
    return {
      ...counters,
      hosts: hosts.filter(isShown).map(one => ({ ...one, hitRatio: hitRatioOf(one.requests) })),
      topObjects: topOf(one => one.requests),
      topMisses: topOf(one => one.misses),
      nodes: [
        {
          ...counters,
          node,
          online: true,
          mode,
          memoryLimitBytes: sum(one => one.memoryLimitBytes),
          diskLimitBytes: sumTiers(one => one.limitBytes),
          tiers: tiers.map(({ isPaused, ...usage }) => ({ ...usage, paused: isPaused })),
          evictions: sum(one => one.evictions) + sumTiers(one => one.evictions),
          invalidations: await invalidations(),
          flushes: 0,
          // A single node always has all changes.
          synced: true,
          originReads: ['MISS', 'EXPIRED', 'BYPASS'].reduce((total, result) => total + (requests[result] ?? 0), 0),
          webhookQueue: await webhookQueue(),
          error: '',
        },
      ],
    }
  }
}

/** The usage of each tier, summed over all threads. The limit is that of the node. */
function tiersOf(usages: readonly NamedUsage[]): readonly NamedUsage[] {
  const byName = new Map<string, NamedUsage>()
  for (const one of usages) {
    const sum = byName.get(one.tier)
    byName.set(one.tier, {
      ...one,
      entries: one.entries + (sum?.entries ?? 0),
      bytes: one.bytes + (sum?.bytes ?? 0),
      evictions: one.evictions + (sum?.evictions ?? 0),
      isPaused: one.isPaused || sum?.isPaused === true,
    })
  }
  return [...byName.values()]
}

function sumOf(counts: readonly HostCounts[]): HostCounts[] {
  const byName = new Map<string, HostCounts>()
  for (const one of counts) {
    const name = `${one.distribution}\n${one.host}`
    const sum = byName.get(name)
    if (sum === undefined) {
      byName.set(name, { ...one, requests: { ...one.requests } })
      continue
    }
    sum.bytesCache += one.bytesCache
    sum.bytesOrigin += one.bytesOrigin
    for (const [result, count] of Object.entries(one.requests))
      sum.requests[result] = (sum.requests[result] ?? 0) + count
  }
  return [...byName.values()]
}

function pagesOf(pages: ThreadStats['top']): ThreadStats['top'][number][] {
  const byName = new Map<string, ThreadStats['top'][number]>()
  for (const one of pages) {
    const name = [one.distribution, one.host, one.path].join('\n')
    const sum = byName.get(name)
    const { requests = 0, misses = 0 } = sum ?? {}
    byName.set(name, { ...one, requests: one.requests + requests, misses: one.misses + misses })
  }
  return [...byName.values()]
}
