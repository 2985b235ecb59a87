/** What the cache has answered since the start, and what visitors got: of all distributions, or of one. */
import { Progress, SimpleGrid, Stack, Table, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { Problem } from '../../api/problem.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { Figure } from '../../parts/figure.tsx'
import { formatBytes, formatCount, formatPercent } from '../../parts/format.ts'
import { type Column, ItemTable } from '../../parts/item-table.tsx'
import { State, Titled } from '../../parts/names.tsx'
import { cacheTexts } from '../../texts/cache.ts'
import { texts } from '../../texts/index.ts'
import { DistributionName, useDistributions } from './distribution-names.tsx'

const words = cacheTexts.cacheStatistics
const refetchMs = 5000

type Stats = Answer<'getCacheStats'>

interface StatisticsProps {
  /** The only one that is of interest; absent: one may choose. */
  readonly distribution?: string
  /** Of it. */
  readonly mode?: string
}

export function Statistics({ distribution, mode }: StatisticsProps) {
  const [chosen, setChosen] = useState('')
  const asked = distribution ?? chosen
  const stats = useQuery({
    queryKey: ['cache-stats', asked],
    queryFn: ({ signal }) =>
      call('getCacheStats', { query: { ...(asked !== '' && { distribution: asked }), top: 20 }, signal }),
    refetchInterval: refetchMs,
    placeholderData: keepPreviousData,
  })
  const { data } = stats
  const listed = useDistributions().find(({ id }) => id === asked)
  const isCached = (mode ?? listed?.mode) !== 's3'
  return (
    <Stack gap="lg">
      {distribution === undefined && (
        <DistributionName
          description={texts.cache.distributionHint}
          maw={360}
          value={chosen}
          onChange={setChosen}
          clearable
        />
      )}
      <Statuses distribution={asked} />
      {isCached ? (
        <>
          {stats.error !== null && <ProblemAlert error={stats.error} onRetry={() => stats.refetch()} />}
          <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
            <Figure label={words.hitRatio} note={words.hitRatioHint} value={data && (hitRatioOf(data) || '–')} />
            <Figure label={words.fromCache} value={data && formatBytes(data.bytesCache)} />
            <Figure label={words.fromOrigin} value={data && formatBytes(data.bytesOrigin)} />
            <Figure
              label={asked === '' ? words.entries : words.allEntries}
              value={data && formatCount(data.entries)}
              {...(data && { note: memoryOf(data) })}
            />
          </SimpleGrid>
          {data !== undefined && <Details stats={data} isOfOne={asked !== ''} />}
        </>
      ) : (
        <Text>{texts.cache.noneInS3}</Text>
      )}
    </Stack>
  )
}

/** By status, whatever the cache had to do with it: it is not asked where a request is refused before. */
function Statuses({ distribution }: { distribution: string }) {
  const { allowed } = useSignedIn()
  const mayMeasure = allowed.has('admin:Prometheus') || allowed.has('admin:ServerInfo')
  const answers = useQuery({
    queryKey: ['distribution-answers', distribution],
    queryFn: ({ signal }) => answersOf(distribution, signal),
    enabled: mayMeasure,
    refetchInterval: refetchMs,
  })
  if (!mayMeasure) return null
  const { data } = answers
  const all = data?.reduce((sum, [, count]) => sum + count, 0) ?? 0
  return (
    <Part title={words.statuses} hint={words.statusesHint}>
      {answers.error !== null && <ProblemAlert error={answers.error} onRetry={() => answers.refetch()} />}
      {data === null && <Text c="dimmed">{words.notMeasured}</Text>}
      {data && all === 0 && <Text c="dimmed">{words.noRequests}</Text>}
      {data && all > 0 && (
        <Table aria-label={words.statuses} verticalSpacing={4}>
          <Table.Tbody>
            {data.map(([status, count]) => (
              <Table.Tr key={status}>
                <Table.Th scope="row">{status}</Table.Th>
                <Share count={count} all={all} />
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Part>
  )
}

type Counts = [status: string, count: number][]

/** Counts by status, as they were measured last; null where nothing was measured of late. `distribution`: empty for all. */
async function answersOf(distribution: string, signal: AbortSignal): Promise<Counts | null> {
  const query = {
    name: 'svc_distribution_requests_total',
    agg: 'sum' as const,
    by: 'status',
    start: '1m',
    ...(distribution !== '' && { label: [`distribution=${distribution}`] }),
  }
  try {
    const { series, bufferStart } = await call('queryMetrics', { query, signal })
    const isMeasured = series.length === 0 || series.some(({ points }) => points.some(([, value]) => value !== null))
    if (bufferStart === null || !isMeasured) return null
    return series
      .map(({ labels, points }): [string, number] => [
        labels.status ?? '',
        points.findLast(([, value]) => value !== null)?.[1] ?? 0,
      ])
      .filter(([, count]) => count > 0)
      .sort(([a], [b]) => a.localeCompare(b))
  } catch (error) {
    // There is no such family before anything was counted.
    if (error instanceof Problem && error.status === 400 && error.message.includes('no family')) return []
    throw error
  }
}

/** Of no requests there is no share. */
function hitRatioOf({ requests, hitRatio }: Pick<Stats, 'requests' | 'hitRatio'>): string {
  const lookedUp = Object.entries(requests).some(([result, count]) => result !== 'BYPASS' && count > 0)
  return lookedUp ? formatPercent(hitRatio) : ''
}

function memoryOf({ memoryBytes, nodes }: Stats): string {
  const limit = nodes.reduce((sum, { memoryLimitBytes }) => sum + memoryLimitBytes, 0)
  return words.memoryOf(formatBytes(memoryBytes), formatBytes(limit))
}

/** `isOfOne`: distribution, of which nodes have no figures of their own. */
function Details({ stats, isOfOne }: { stats: Stats; isOfOne: boolean }) {
  const { requests, hosts, topObjects, topMisses, nodes } = stats
  return (
    <>
      <Requests requests={requests as Record<string, number>} />
      {hosts.length > 0 && (
        <Part title={words.hosts}>
          <ItemTable label={words.hosts} items={hosts} columns={hostColumns} idOf={nameOf} minWidth={420} />
        </Part>
      )}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {topObjects.length > 0 && (
          <Part title={words.topObjects}>
            <ItemTable label={words.topObjects} items={topObjects} columns={pageColumns} idOf={nameOf} minWidth={280} />
          </Part>
        )}
        {topMisses.length > 0 && (
          <Part title={words.topMisses}>
            <ItemTable label={words.topMisses} items={topMisses} columns={pageColumns} idOf={nameOf} minWidth={280} />
          </Part>
        )}
      </SimpleGrid>
      <Part title={words.nodes} {...(isOfOne && { hint: words.allNodes })}>
        <ItemTable label={words.nodes} items={nodes} columns={nodeColumns} idOf={({ node }) => node} minWidth={960} />
      </Part>
    </>
  )
}

function Part({ title, hint, children }: { title: string; hint?: string; children: React.ReactNode }) {
  return (
    <Stack gap="xs" miw={0}>
      <div>
        <Title order={2} size="h4">
          {title}
        </Title>
        {hint !== undefined && (
          <Text size="sm" c="dimmed">
            {hint}
          </Text>
        )}
      </div>
      {children}
    </Stack>
  )
}

/** The cells of a part of all. */
function Share({ count, all }: { count: number; all: number }) {
  return (
    <>
      <Table.Td ta="right" className="numbers">
        {formatCount(count)}
      </Table.Td>
      <Table.Td ta="right" className="numbers">
        {formatPercent(count / all)}
      </Table.Td>
    </>
  )
}

const colours: Readonly<Record<string, string>> = {
  HIT: 'teal.8',
  REVALIDATED: 'cyan.9',
  STALE: 'yellow.7',
  EXPIRED: 'orange.8',
  MISS: 'indigo.7',
  BYPASS: 'gray.6',
}

function Requests({ requests }: { requests: Readonly<Record<string, number>> }) {
  const all = Object.values(requests).reduce((sum, count) => sum + count, 0)
  const shares = Object.keys(words.results).map(name => ({ name, count: requests[name] ?? 0 }))
  return (
    <Part title={words.requests}>
      {all === 0 && <Text c="dimmed">{words.notAsked}</Text>}
      {all > 0 && (
        <>
          <Progress.Root size="lg" aria-hidden>
            {shares.map(({ name, count }) => (
              <Progress.Section key={name} value={(count / all) * 100} color={colours[name] ?? 'gray.6'} />
            ))}
          </Progress.Root>
          <Table aria-label={words.requests} verticalSpacing={4}>
            <Table.Tbody>
              {shares
                .filter(({ count }) => count > 0)
                .map(({ name, count }) => (
                  <Table.Tr key={name}>
                    <Table.Td w={12}>
                      <Progress value={100} color={colours[name] ?? 'gray.6'} w={10} aria-hidden />
                    </Table.Td>
                    <Table.Th scope="row">
                      <Titled name={name} note={words.results[name] ?? ''} />
                    </Table.Th>
                    <Share count={count} all={all} />
                  </Table.Tr>
                ))}
            </Table.Tbody>
          </Table>
        </>
      )}
    </Part>
  )
}

const nameOf = ({ distribution, host, path = '' }: { distribution: string; host: string; path?: string }) =>
  `${distribution} ${host} ${path}`

const hostColumns: Column<Stats['hosts'][number]>[] = [
  { title: words.host, render: ({ host, distribution }) => <Titled name={host} note={distribution} /> },
  { title: words.ratio, isNumber: true, render: hitRatioOf },
  { title: words.fromCache, isNumber: true, render: ({ bytesCache }) => formatBytes(bytesCache) },
  { title: words.fromOrigin, isNumber: true, render: ({ bytesOrigin }) => formatBytes(bytesOrigin) },
]

const pageColumns: Column<Stats['topObjects'][number]>[] = [
  {
    title: words.page,
    render: ({ host, path }) => (
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {host}
        {path}
      </Text>
    ),
  },
  { title: words.count, isNumber: true, render: ({ requests }) => formatCount(requests) },
  { title: words.misses, isNumber: true, render: ({ misses }) => formatCount(misses) },
]

const nodeColumns: Column<Stats['nodes'][number]>[] = [
  {
    title: words.node,
    render: ({ node, mode, error }) => <Titled name={node} note={error || mode} isBad={error !== ''} />,
  },
  {
    title: texts.common.state,
    render: ({ online, synced }) => (
      <State
        text={online ? (synced ? words.upToDate : words.behind) : words.offline}
        is={online ? (synced ? 'good' : 'poor') : 'bad'}
      />
    ),
  },
  { title: words.ratio, isNumber: true, render: hitRatioOf },
  { title: words.entries, isNumber: true, render: ({ entries }) => formatCount(entries) },
  {
    title: words.memory,
    isNumber: true,
    render: ({ memoryBytes, memoryLimitBytes }) =>
      words.memoryOf(formatBytes(memoryBytes), formatBytes(memoryLimitBytes)),
  },
  {
    title: words.disk,
    isNumber: true,
    render: ({ diskBytes, diskLimitBytes }) =>
      diskLimitBytes === 0 ? '' : words.memoryOf(formatBytes(diskBytes), formatBytes(diskLimitBytes)),
  },
  { title: words.evictions, isNumber: true, render: ({ evictions }) => formatCount(evictions) },
  { title: words.originReads, isNumber: true, render: ({ originReads }) => formatCount(originReads) },
  { title: words.purges, isNumber: true, render: ({ invalidations }) => formatCount(invalidations) },
  { title: words.webhookQueue, isNumber: true, render: ({ webhookQueue }) => formatCount(webhookQueue) },
]
