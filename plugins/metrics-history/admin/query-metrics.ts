import { hostname } from 'node:os'
import { parseDuration } from 'svc/kernel'
import { adminErrors, defineAdminOperation } from 'svc/plugins/admin/api'
import { type Static, Type } from 'typebox'
import type { LabelFilter } from '../api.ts'
import { FamilyType } from './metrics-schema.ts'

const Functions = Type.Union(
  [Type.Literal('raw'), Type.Literal('rate'), Type.Literal('increase'), Type.Literal('quantile')],
  {
    default: 'raw',
    description:
      '`raw`: the last sample of each step; of a histogram its number of observations. `rate`: increase per second. `quantile`: of the observations of each step.',
  },
)
const Aggregations = Type.Union(
  [Type.Literal('none'), Type.Literal('sum'), Type.Literal('avg'), Type.Literal('min'), Type.Literal('max')],
  {
    default: 'none',
    description: 'Over the series that match. `sum` of quantiles is the quantile of all observations.',
  },
)

const MetricsQuery = Type.Object({
  name: Type.String({ description: 'Of the family.' }),
  label: Type.Optional(
    Type.Array(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]*!?=',
        errorMessage: 'must be a label and a value, as bucket=photos or api!=ListBuckets',
      }),
      {
        maxItems: 20,
        description: '`bucket=photos`, `api!=ListBuckets`.',
      },
    ),
  ),
  node: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
  start: Type.Optional(Type.String({ description: 'A date, or how long ago: `6h`. Default: an hour before the end.' })),
  end: Type.Optional(Type.String({ description: 'A date, or how long ago. Default: now.' })),
  step: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Seconds, a multiple of 10. Default: as many as make at most 360 points.',
    }),
  ),
  fn: Functions,
  q: Type.Number({ minimum: 0, maximum: 1, default: 0.99, description: 'Of `quantile`.' }),
  agg: Aggregations,
  by: Type.Optional(Type.String({ description: 'Labels that `agg` keeps, separated by commas.' })),
})

const Time = Type.String({ format: 'date-time' })

const MetricsQueryResult = Type.Object(
  {
    name: Type.String(),
    type: FamilyType,
    fn: Type.String(),
    agg: Type.String(),
    start: Time,
    end: Time,
    step: Type.Integer({ description: 'Seconds.' }),
    bufferStart: Type.Union([Time, Type.Null()], { description: 'Of the oldest point held; null before the first.' }),
    series: Type.Array(
      Type.Object({
        labels: Type.Record(Type.String(), Type.String()),
        node: Type.String(),
        points: Type.Array(
          Type.Tuple([
            Type.Integer({ description: 'Seconds since 1970: the end of the step.' }),
            Type.Union([Type.Number(), Type.Null()]),
          ]),
          { description: 'null: no sample.' },
        ),
      }),
    ),
    truncated: Type.Boolean({ description: 'The requested range begins before the oldest point.' }),
  },
  { $id: 'MetricsQueryResult' },
)

const hourSeconds = 3600

export default defineAdminOperation({
  id: 'queryMetrics',
  method: 'GET',
  path: '/metrics/query',
  tag: 'monitoring',
  summary:
    'Answers from the last 24 hours of a family of metrics: samples, rates, quantiles, and sums of them over series.',
  authorize: [['admin:Prometheus', 'admin:ServerInfo']],
  query: MetricsQuery,
  response: MetricsQueryResult,
  uses: ['metricsHistory', 'ports'],
  async handle({ query }, { metricsHistory, ports: { clock } }) {
    const { name, fn, agg, q, step, by = '' } = query
    const node = requireNode(query)
    const nowSeconds = clock.now() / 1000
    const end = secondsOf('end', query.end, nowSeconds) ?? nowSeconds
    const start = secondsOf('start', query.start, nowSeconds) ?? end - hourSeconds
    const labels = (query.label ?? []).map(readFilter)
    const kept = by.split(',').filter(label => label !== '')
    const result = await metricsHistory.query({ name, labels, start, end, step, fn, q, agg, by: kept })
    return {
      name,
      type: result.type,
      fn,
      agg,
      start: timeOf(result.start),
      end: timeOf(result.end),
      step: result.step,
      bufferStart: result.bufferStart === undefined ? null : timeOf(result.bufferStart),
      series: result.series.map(({ labels, values }) => ({
        labels: { ...labels },
        node,
        points: values.map((value, point): [number, number | null] => [result.start + point * result.step, value]),
      })),
      truncated: result.truncated,
    }
  },
})

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString()

function requireNode({ node }: Static<typeof MetricsQuery>): string {
  const own = hostname()
  if (node !== undefined && !node.includes(own)) {
    throw adminErrors.invalid_argument(`query/node: this deployment has one node, ${own}.`)
  }
  return own
}

function readFilter(text: string): LabelFilter {
  const [, name = '', operator, value = ''] = /^(\w+)(!?=)(.*)$/s.exec(text) ?? []
  return { name, value, isEqual: operator === '=' }
}

/** A date, seconds since 1970, or how long ago. */
function secondsOf(name: string, text: string | undefined, nowSeconds: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{9,11}(\.\d+)?$/.test(text)) return Number(text)
  const dateMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(dateMs)) return dateMs / 1000
  try {
    return nowSeconds - parseDuration(text) / 1000
  } catch {
    throw adminErrors.invalid_argument(`query/${name} is neither a date nor a duration.`)
  }
}
