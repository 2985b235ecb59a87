/** What the overview asks, again and again while it is open. */
import { queryOptions } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import type { Line } from '../../parts/line.ts'
import type { Measured } from './measured.ts'

const refetchInterval = 10_000

export type Usage = Answer<'getUsage'>
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

export const notifyTargetsQuery = queryOptions({
  queryKey: ['offline-targets'],
  queryFn: async ({ signal }) => (await call('listNotifyTargets', { signal })).items,
  refetchInterval,
})

export const auditTargetsQuery = queryOptions({
  queryKey: ['offline-audit-targets'],
  queryFn: async ({ signal }) => (await call('listAuditTargets', { signal })).items,
  refetchInterval,
})

export const kmsStatusQuery = queryOptions({
  queryKey: ['kms'],
  queryFn: ({ signal }) => call('getKmsStatus', { signal }),
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
  readonly fn: 'raw' | 'rate' | 'quantile'
  readonly q?: number
  /** Only statuses that begin so, of a family that counts by status. */
  readonly status?: '4' | '5'
  /** Left out where nothing was measured: not every server publishes something, and a plugin that is not loaded has no such family. */
  readonly isOptional?: boolean
}

/** One line for each series, summed over what it counts by. */
export const linesQuery = (series: readonly Series[]) =>
  queryOptions({
    queryKey: ['metrics', series],
    refetchInterval,
    queryFn: async ({ signal }): Promise<Measured> => {
      const answers = await Promise.all(series.map(one => lineOf(one, signal)))
      return {
        lines: answers.filter(({ points }, index) => series[index]?.isOptional !== true || hasValues(points)),
        isTold: answers.some(({ isTold }) => isTold),
      }
    },
  })

export const hasValues = (points: Line['points']): boolean => points.some(([, value]) => value !== null)

async function lineOf(
  { label, name, fn, q, status, isOptional }: Series,
  signal: AbortSignal,
): Promise<Line & Pick<Measured, 'isTold'>> {
  const query = {
    name,
    fn,
    agg: 'sum' as const,
    start: '1h',
    ...(q !== undefined && { q }),
    ...(status !== undefined && { by: 'status' }),
  }
  try {
    const { series, bufferStart, end } = await call('queryMetrics', { query, signal })
    const kept = series.filter(({ labels }) => status === undefined || labels.status?.startsWith(status))
    return {
      label,
      points: sumOf(kept.map(({ points }) => points as Line['points'])),
      isTold: bufferStart !== null && Date.parse(bufferStart) < Date.parse(end),
    }
  } catch (error) {
    if (isOptional === true && error instanceof Problem && error.status === 400)
      return { label, points: [], isTold: false }
    throw error
  }
}

/** All of one answer: their times are the same. */
function sumOf(all: readonly Line['points'][]): Line['points'] {
  const [first = [], ...rest] = all
  return first.map(([time, value], index) => {
    const values = [value, ...rest.map(points => points[index]?.[1] ?? null)].filter(one => one !== null)
    return [time, values.length === 0 ? null : values.reduce((sum, one) => sum + one, 0)]
  })
}
