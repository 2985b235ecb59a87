/** The last hour: requests, errors, latency, traffic. */
import { Paper, SimpleGrid, Skeleton, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Chart } from '../../parts/chart.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatCount } from '../../parts/format.ts'
import { texts } from '../../texts/index.ts'
import { linesQuery, type Series } from './queries.ts'

interface Panel {
  readonly title: string
  readonly series: readonly Series[]
  readonly format: (value: number) => string
}

const rate = (value: number) => (value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(2))
const time = (seconds: number) => (seconds >= 1 ? `${seconds.toFixed(1)} s` : `${(seconds * 1000).toFixed(0)} ms`)
const traffic = (bytes: number) => texts.uploads.rate(formatBytes(bytes))

const panels: readonly Panel[] = [
  {
    title: texts.overview.requests,
    format: rate,
    series: [{ label: texts.overview.requests, name: 'svc_s3_requests_total', fn: 'rate' }],
  },
  {
    title: texts.overview.errors,
    format: rate,
    series: [
      { label: '4xx', name: 'svc_s3_requests_4xx_errors_total', fn: 'rate' },
      { label: '5xx', name: 'svc_s3_requests_5xx_errors_total', fn: 'rate' },
    ],
  },
  {
    title: texts.overview.latency,
    format: time,
    series: [
      { label: texts.overview.half, name: 'svc_s3_request_duration_seconds', fn: 'quantile', q: 0.5 },
      { label: texts.overview.most, name: 'svc_s3_request_duration_seconds', fn: 'quantile', q: 0.99 },
    ],
  },
  {
    title: texts.overview.traffic,
    format: traffic,
    series: [
      { label: texts.overview.sent, name: 'svc_s3_traffic_sent_bytes_total', fn: 'rate' },
      { label: texts.overview.received, name: 'svc_s3_traffic_received_bytes_total', fn: 'rate' },
    ],
  },
  {
    title: texts.overview.usage,
    format: formatBytes,
    series: [{ label: texts.overview.usage, name: 'svc_cluster_usage_bytes', fn: 'raw' }],
  },
  {
    title: texts.overview.objectsOverTime,
    format: formatCount,
    series: [{ label: texts.overview.objectsOverTime, name: 'svc_cluster_objects', fn: 'raw' }],
  },
]

export function Charts() {
  return (
    <>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {panels.map(panel => (
          <ChartPanel key={panel.title} {...panel} />
        ))}
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        {texts.overview.counted}
      </Text>
    </>
  )
}

function ChartPanel({ title, series, format }: Panel) {
  const { data, error, refetch } = useQuery(linesQuery(series))
  const isEmpty = data?.every(({ points }) => points.every(([, value]) => value === null)) ?? false
  return (
    <Paper withBorder p="md" miw={0}>
      <Title order={2} size="h5" mb="xs">
        {title}
      </Title>
      {error !== null && data === undefined && <ProblemAlert error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Skeleton h={140} />}
      {isEmpty && (
        <Text size="sm" c="dimmed">
          {texts.overview.noData}
        </Text>
      )}
      {data !== undefined && !isEmpty && (
        <Chart label={`${title}: ${texts.overview.chart}`} lines={data} format={format} />
      )}
    </Paper>
  )
}
