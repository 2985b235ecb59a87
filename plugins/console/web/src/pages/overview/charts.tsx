/** The last hour: requests, errors, latency, traffic. */
import { Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useMay } from '../../app/signed-in.ts'
import { Chart, type ChartProps } from '../../parts/chart.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatCount, formatNumber, formatSeconds, perSecond } from '../../parts/format.ts'
import type { Line } from '../../parts/line.ts'
import { Prose } from '../../parts/prose.tsx'
import { texts } from '../../texts/index.ts'
import { type Shown, shownOf } from './measured.ts'
import { linesQuery, type Series, type Usage, usageQuery } from './queries.ts'

interface Panel {
  readonly title: string
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  readonly step?: ChartProps['step']
  /** Where all is 0 a sentence says more than a line. */
  readonly isIdleAtZero?: boolean
  readonly isOfRequests?: boolean
  /** The same number as it is now. */
  readonly now?: (usage: Usage) => number
  /** The sentence where there was none. */
  readonly nothing?: string
  /** What follows that sentence. */
  readonly hint?: string
}

const words = texts.overview
const traffic = (bytes: number) => perSecond(formatBytes(bytes))
const rate = (value: number) => perSecond(formatNumber(value))
const ofDistributions = { isOptional: true } as const

const panels: readonly Panel[] = [
  {
    title: words.requests,
    isOfRequests: true,
    isIdleAtZero: true,
    hint: words.noRequestsHint,
    format: rate,
    series: [
      { label: words.s3, name: 'svc_s3_requests_total', fn: 'rate' },
      { label: words.published, name: 'svc_distribution_requests_total', fn: 'rate', ...ofDistributions },
    ],
  },
  {
    title: words.errors,
    isOfRequests: true,
    nothing: words.noErrors,
    format: rate,
    series: [
      { label: words.of(words.s3, '4xx'), name: 'svc_s3_requests_4xx_errors_total', fn: 'rate' },
      { label: words.of(words.s3, '5xx'), name: 'svc_s3_requests_5xx_errors_total', fn: 'rate' },
      ...(['4', '5'] as const).map(status => ({
        label: words.of(words.published, `${status}xx`),
        name: 'svc_distribution_requests_total',
        fn: 'rate' as const,
        status,
        ...ofDistributions,
      })),
    ],
  },
  {
    title: words.latency,
    isOfRequests: true,
    format: formatSeconds,
    series: [
      ...quantilesOf(words.s3, 'svc_s3_request_duration_seconds'),
      ...quantilesOf(words.published, 'svc_distribution_request_duration_seconds', true),
    ],
  },
  {
    title: words.traffic,
    isOfRequests: true,
    isIdleAtZero: true,
    format: traffic,
    step: 'binary',
    series: [
      { label: words.of(words.s3, words.sent), name: 'svc_s3_traffic_sent_bytes_total', fn: 'rate' },
      { label: words.of(words.s3, words.received), name: 'svc_s3_traffic_received_bytes_total', fn: 'rate' },
      {
        label: words.of(words.published, words.sent),
        name: 'svc_distribution_bytes_served_total',
        fn: 'rate',
        ...ofDistributions,
      },
    ],
  },
  {
    title: words.usage,
    format: formatBytes,
    step: 'binary',
    isIdleAtZero: true,
    nothing: words.nothingStored,
    now: ({ totalSize }) => totalSize,
    series: [{ label: words.usage, name: 'svc_cluster_usage_bytes', fn: 'raw' }],
  },
  {
    title: words.objectsOverTime,
    format: formatCount,
    step: 'whole',
    isIdleAtZero: true,
    nothing: words.nothingStored,
    now: ({ objectsCount }) => objectsCount,
    series: [{ label: words.objectsOverTime, name: 'svc_cluster_objects', fn: 'raw' }],
  },
]

function quantilesOf(what: string, name: string, isOptional = false): Series[] {
  return [
    { label: words.of(what, words.half), name, fn: 'quantile', q: 0.5, isOptional },
    { label: words.of(what, words.most), name, fn: 'quantile', q: 0.99, isOptional },
  ]
}

export function Charts() {
  const answers = useQueries({ queries: panels.map(({ series }) => linesQuery(series)) })
  const { data: usage } = useQuery({ ...usageQuery, enabled: useMay('admin:DataUsageInfo') })
  const panelsShown = panels.map((panel, index) => {
    const { data, error, refetch } = answers[index]!
    const shown = data && shownOf(data, { ...panel, now: usage && panel.now?.(usage) })
    return { ...panel, lines: data?.lines, shown, error, onRetry: () => refetch() }
  })
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {panelsShown.map(panel => (
          <ChartPanel key={panel.title} {...panel} />
        ))}
      </SimpleGrid>
      {/* It explains names that stand in charts of requests. */}
      {panelsShown.some(({ isOfRequests, shown }) => isOfRequests === true && shown === 'lines') && (
        <Text size="sm" c="dimmed">
          {words.counted}
        </Text>
      )}
    </>
  )
}

interface ChartPanelProps extends Panel {
  readonly lines: readonly Line[] | undefined
  readonly shown: Shown | undefined
  readonly error: Error | null
  readonly onRetry: () => void
}

function ChartPanel({ title, format, step, nothing = words.noRequests, hint = '', ...answer }: ChartPanelProps) {
  const { lines, shown, error, onRetry } = answer
  return (
    <Paper withBorder p="md" miw={0}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      {error !== null && lines === undefined && <ProblemAlert error={error} onRetry={onRetry} />}
      {lines === undefined && error === null && <Skeleton h={140} />}
      {(shown === 'idle' || shown === 'unmeasured') && (
        <Text size="sm" c="dimmed">
          {shown === 'idle' ? <Prose text={`${nothing} ${hint}`} /> : words.notMeasured}
        </Text>
      )}
      {lines !== undefined && shown === 'lines' && (
        <Chart label={`${title}: ${words.chart}`} lines={lines} format={format} step={step} />
      )}
    </Paper>
  )
}
