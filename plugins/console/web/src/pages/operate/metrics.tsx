/** Any metric of the last 24 hours as a chart, and the token that lets Prometheus read them. */
import {
  Autocomplete,
  Button,
  type ComboboxParsedItem,
  Group,
  NativeSelect,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  Title,
} from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { Chart } from '../../parts/chart.tsx'
import { choicesOf } from '../../parts/choices.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { formatBytes, formatNumber, formatSeconds, perSecond } from '../../parts/format.ts'
import type { Line } from '../../parts/line.ts'
import { Prose } from '../../parts/prose.tsx'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { PrometheusToken } from './prometheus-token.tsx'

const words = texts.metrics

type Family = Answer<'listMetrics'>['items'][number]
type Span = keyof typeof words.spans
type Fn = keyof typeof words.fns

const familiesRead = 1000
const linesMax = 12
const refetchInterval = 10_000
const firstFamily = 'svc_s3_requests_total'

export function Metrics() {
  const [isMaking, setMaking] = useState(false)
  const [typed, setTyped] = useState(firstFamily)
  const families = useQuery({
    queryKey: ['metric-families'],
    queryFn: async ({ signal }) => (await call('listMetrics', { query: { limit: familiesRead }, signal })).items,
  })
  const chosen = families.data?.find(({ name }) => name === typed)
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {words.title}
        </Title>
        {useMay('admin:Prometheus') && <Button onClick={() => setMaking(true)}>{words.token}</Button>}
      </Group>
      {families.error !== null && <ProblemAlert error={families.error} onRetry={() => families.refetch()} />}
      <Autocomplete
        label={words.family}
        placeholder={words.familyHint}
        data={(families.data ?? []).map(({ name }) => name)}
        // With the name of a family in the field all are offered: one opens the list to choose another.
        filter={({ options, search }) => (chosen === undefined ? familiesWith(options, search) : options)}
        value={typed}
        onChange={setTyped}
        maw={560}
      />
      {families.isPending && <Skeleton h={240} />}
      {chosen !== undefined && <FamilyChart key={chosen.name} family={chosen} />}
      {isMaking && <PrometheusToken onClose={() => setMaking(false)} />}
    </Stack>
  )
}

const familiesWith = (options: ComboboxParsedItem[], search: string) =>
  options.filter(option => 'label' in option && option.label.includes(search.trim().toLowerCase()))

/** The first function shown for a family: a rate for counters, a quantile for histograms. */
const fnOf = ({ type }: Family): Fn => (type === 'counter' ? 'rate' : type === 'histogram' ? 'quantile' : 'raw')

function FamilyChart({ family }: { family: Family }) {
  const { name, help, labels } = family
  const [span, setSpan] = useState<Span>('1h')
  const [fn, setFn] = useState<Fn>(fnOf(family))
  const [by, setBy] = useState('')
  const { data, error, refetch } = useQuery({
    queryKey: ['metric', name, span, fn, by],
    refetchInterval,
    queryFn: async ({ signal }) => {
      const { series, bufferStart } = await call('queryMetrics', {
        query: { name, fn, agg: 'sum', by, start: span },
        signal,
      })
      return {
        count: series.length,
        ...(bufferStart !== null && { since: Date.parse(bufferStart) / 1000 }),
        lines: series.slice(0, linesMax).map(
          ({ labels, points }): Line => ({
            label: words.line(Object.values(labels).join(' ')),
            points: points as Line['points'],
          }),
        ),
      }
    },
  })
  // A chart is drawn anew where its format is another one.
  const format = useMemo(() => formatOf(family, fn), [family, fn])
  const isEmpty = data?.lines.every(({ points }) => points.every(([, value]) => value === null)) ?? false
  return (
    <Section title={name} hint={help}>
      <SimpleGrid cols={{ base: 1, sm: 3 }}>
        <NativeSelect
          label={words.since}
          data={choicesOf(words.spans)}
          value={span}
          onChange={event => setSpan(event.currentTarget.value as Span)}
        />
        <NativeSelect
          label={words.fn}
          data={choicesOf(words.fns).filter(({ value }) => value !== 'quantile' || family.type === 'histogram')}
          value={fn}
          onChange={event => setFn(event.currentTarget.value as Fn)}
        />
        <NativeSelect
          label={words.by}
          data={[{ value: '', label: words.byNothing }, ...labels.map(label => ({ value: label, label }))]}
          value={by}
          onChange={event => setBy(event.currentTarget.value)}
        />
      </SimpleGrid>
      {error !== null && data === undefined && <ProblemAlert error={error} onRetry={() => refetch()} />}
      {error === null && data === undefined && <Skeleton h={140} />}
      {isEmpty && (
        <Text size="sm" c="dimmed">
          {name.startsWith('svc_s3_') ? <Prose text={words.noneYet} /> : words.none}
        </Text>
      )}
      {data !== undefined && !isEmpty && (
        <>
          <Chart
            label={words.chart(name)}
            lines={data.lines}
            format={format}
            since={data.since}
            step={family.unit === 'bytes' && isMeasured(family, fn) ? 'binary' : undefined}
          />
          {data.count > linesMax && (
            <Text size="sm" c="dimmed">
              {words.rest(linesMax)}
            </Text>
          )}
        </>
      )}
    </Section>
  )
}

/** Values of a histogram are numbers of observations, whatever it measures. */
/** In its unit. Other functions of a histogram count. */
const isMeasured = ({ type }: Family, fn: Fn) => type !== 'histogram' || fn === 'quantile'

function formatOf(family: Family, fn: Fn): (value: number) => string {
  const { unit } = family
  const format = !isMeasured(family, fn)
    ? formatNumber
    : unit === 'bytes'
      ? formatBytes
      : unit === 'seconds'
        ? formatSeconds
        : formatNumber
  return fn === 'rate' ? value => perSecond(format(value)) : format
}
