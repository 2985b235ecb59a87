/** What the overview asks, again and again while it is open. */
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import type { Line } from '../../parts/chart.tsx'

const refetchInterval = 10_000

export type ServerInfo = Answer<'getServerInfo'>
export type Drive = ServerInfo['nodes'][number]['disks'][number]

export const serverInfoQuery = queryOptions({
  queryKey: ['server-info'],
  queryFn: ({ signal }) => call('getServerInfo', { signal }),
  refetchInterval,
})

export const redundancyQuery = queryOptions({
  queryKey: ['redundancy'],
  queryFn: ({ signal }) => call('getRedundancy', { signal }),
  refetchInterval,
})

export const usageQuery = queryOptions({
  queryKey: ['usage'],
  queryFn: ({ signal }) => call('getUsage', { signal }),
  refetchInterval,
})

export interface Series {
  readonly label: string
  readonly name: string
  readonly labels?: readonly string[]
  readonly fn: 'raw' | 'rate' | 'quantile'
  readonly q?: number
}

/** One line for each series, summed over what it counts by. */
export const linesQuery = (series: readonly Series[]) =>
  queryOptions({
    queryKey: ['metrics', series],
    refetchInterval,
    queryFn: ({ signal }): Promise<Line[]> =>
      Promise.all(
        series.map(async ({ label, name, labels, fn, q }) => {
          const query = {
            name,
            fn,
            agg: 'sum' as const,
            start: '1h',
            ...(labels && { label: [...labels] }),
            ...(q !== undefined && { q }),
          }
          const { series: found } = await call('queryMetrics', { query, signal })
          return { label, points: (found[0]?.points ?? []) as Line['points'] }
        }),
      ),
  })
