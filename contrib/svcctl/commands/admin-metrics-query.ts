import type { AdminClient } from '../admin/client.ts'
import { defineCommand } from '../command.ts'
import { AdminError, notFoundError, usageError } from '../errors.ts'
import { type ChartSeries, chartColumns, chartOf } from '../metrics-chart.ts'
import { parseDuration } from '../units.ts'

interface Options {
  readonly label?: readonly string[]
  readonly node?: readonly string[]
  readonly from?: string
  readonly to?: string
  readonly since?: string
  readonly step?: number
  readonly fn?: string
  readonly quantile?: number
  readonly agg?: string
  readonly by?: string
}

interface Answer {
  readonly type: string
  readonly fn: string
  readonly start: string
  readonly end: string
  readonly step: number
  readonly bufferStart: string | null
  readonly truncated: boolean
  readonly series: readonly ChartSeries[]
}

const hourMs = 3_600_000
const tickMs = 10_000

export default defineCommand<Options>({
  name: 'admin metrics query',
  summary: 'Draws the last hours of a family of metrics as a chart of 80 columns.',
  description:
    'The server holds 24 hours, a point per 10 seconds, and begins anew with each start. Times are dates (2026-01-31T08:00:00Z) or say how long ' +
    'ago (6h). --json prints the exact points. Needs admin:Prometheus or admin:ServerInfo.',
  arguments: [
    { name: 'alias', summary: 'of the server', kind: 'alias' },
    { name: 'name', summary: 'of the family: svcctl admin metrics list', kind: 'text' },
  ],
  options: [
    { flags: '--label <filter>', summary: 'only series with it: bucket=photos, api!=ListBuckets', isRepeatable: true },
    { flags: '--node <name>', summary: 'only of this node', isRepeatable: true },
    { flags: '--since <duration>', summary: 'how long ago it begins; without it an hour' },
    { flags: '--from <time>', summary: 'when it begins' },
    { flags: '--to <time>', summary: 'when it ends; without it now' },
    { flags: '--step <duration>', summary: 'between points: a multiple of 10s', parse: parseDuration },
    {
      flags: '--fn <function>',
      summary: 'of each step: the last sample, the increase per second, the increase, or a quantile of a histogram',
      choices: ['raw', 'rate', 'increase', 'quantile'],
    },
    { flags: '--quantile <share>', summary: 'from 0 to 1; without it 0.99', parse: parseShare },
    { flags: '--agg <function>', summary: 'over all series', choices: ['none', 'sum', 'avg', 'min', 'max'] },
    { flags: '--by <labels>', summary: 'that --agg keeps, separated by commas' },
  ],
  typed: {
    'query/name': 'NAME',
    'query/start': 'the beginning (--since, --from)',
    'query/end': '--to',
    'query/step': '--step',
    'query/fn': '--fn',
    'query/q': '--quantile',
    'query/agg': '--agg',
    'query/by': '--by',
    'query/label': '--label',
    'query/node': '--node',
  },
  examples: [
    'svcctl admin metrics query home svc_s3_requests_total --fn rate --agg sum',
    'svcctl admin metrics query home svc_s3_request_duration_seconds --fn quantile --label api=GetObject --since 6h',
    'svcctl admin metrics query home svc_bucket_requests_total --fn rate --agg sum --by bucket --json',
  ],
  async run(context, [alias, name], options) {
    const { label = [], node = [], since, to, step, fn, quantile, agg, by } = options
    if (since !== undefined && options.from !== undefined) throw usageError('Either --since or --from.')
    if (quantile !== undefined && fn !== 'quantile') throw usageError('--quantile goes with --fn quantile.')
    const from = since ?? options.from
    const seconds = step === undefined ? fittingStep(from, to, Date.now()) : step / 1000
    const query = [
      ['name', name!],
      ...label.map(text => ['label', text]),
      ...node.map(text => ['node', text]),
      ...Object.entries({ start: from, end: to, step: seconds, fn, q: quantile, agg, by }).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, String(value)]],
      ),
    ] as [string, string][]
    const client = await context.connectAdmin(alias!)
    const request = { operation: 'queryMetrics', method: 'GET', path: '/metrics/query', query }
    const { body } = await client.send(request).catch(error => {
      throw withList(error, alias!, name!)
    })
    const answer = body as Answer
    if (answer.series.length === 0 && label.length > 0) throw await noSeries(client, name!, label)
    context.output.result(body as Record<string, unknown>, ...describe(name!, answer, quantile))
    if (answer.truncated && answer.bufferStart !== null) {
      context.output.note(`The server has points since ${answer.bufferStart.slice(0, 19)}Z.`)
    }
  },
})

/** Adds the command that lists the families, if none has this name. */
function withList(error: unknown, alias: string, name: string): unknown {
  if (!(error instanceof AdminError) || !/^query\/name\b.*no family/.test(error.message)) return error
  const message = `The server holds no family ${JSON.stringify(name)}: \`svcctl admin metrics list ${alias}\` shows all.`
  return error.inWords(message, [])
}

/** Why the labels match nothing: the family has no such label, or no series has its value. */
async function noSeries(client: AdminClient, name: string, filters: readonly string[]): Promise<Error> {
  const query = [['prefix', name]] as const
  const { body } = await client.send({ operation: 'listMetrics', method: 'GET', path: '/metrics', query })
  const { items } = body as { readonly items: readonly { readonly name: string; readonly labels: readonly string[] }[] }
  const labels = items.find(family => family.name === name)?.labels ?? []
  const unknown = filters.map(filter => filter.replace(/!?=.*$/s, '')).find(label => !labels.includes(label))
  if (unknown === undefined) return notFoundError(`No series of ${name} has ${filters.join(' and ')}.`)
  const known = labels.length === 0 ? 'it has none' : `its labels are ${labels.join(', ')}`
  return notFoundError(`${name} has no label ${unknown}: ${known}.`)
}

function describe(name: string, answer: Answer, quantile = 0.99): readonly string[] {
  const { type, fn, series, start, end, step } = answer
  if (series.length === 0) return ['There are no series.']
  const [, found] = /_(bytes|seconds)(?:_total)?$/.exec(name) ?? []
  // A histogram counts observations, but for its quantiles; an increase of seconds per second is a share.
  const isCount = type === 'histogram' && fn !== 'quantile'
  const unit = isCount || (found === 'seconds' && fn === 'rate') ? undefined : found
  const how = { raw: '', rate: ' per second', increase: ` in ${step} s`, quantile: `, quantile ${quantile}` }[fn] ?? ''
  const what = `${isCount ? ', observations' : ''}${how}`
  const time = (text: string) => text.slice(0, 16).replace('T', ' ')
  return [`${name}${what}`, `${time(start)} to ${time(end)} UTC, a point per ${step} s`, ...chartOf({ series, unit })]
}

/** The step that gives one point per column of the chart, so that the server computes rates per column. Undefined if the times are not understood. */
function fittingStep(from: string | undefined, to: string | undefined, nowMs: number): number | undefined {
  const endMs = to === undefined ? nowMs : timeOf(to, nowMs)
  const startMs = from === undefined ? endMs - hourMs : timeOf(from, nowMs)
  if (!(endMs > startMs)) return undefined
  return (Math.ceil((endMs - startMs) / (chartColumns - 1) / tickMs) * tickMs) / 1000
}

/** NaN if only the server can check it. */
function timeOf(text: string, nowMs: number): number {
  if (/^\d{4}-/.test(text)) return Date.parse(text)
  try {
    return nowMs - parseDuration(text)
  } catch {
    return Number.NaN
  }
}

function parseShare(text: string): number {
  const share = /^(0(\.\d+)?|1)$/.test(text) ? Number(text) : Number.NaN
  if (Number.isNaN(share)) throw new RangeError('is no number from 0 to 1')
  return share
}
