/** Queries of the history: samples, rates, increases and quantiles, and sums of them over series. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { adminErrors } from 'svc/plugins/admin/api'
import type { MetricsQuery, MetricsResult, ResultSeries } from './api.ts'
import type { Column } from './column.ts'
import { type HeldFamily, type History, historyTicks, type Series, tickSeconds } from './history.ts'

const pointsMax = historyTicks
const seriesMax = 200
const pointsDefault = 360
/** Points of columns that a question may read, and how many are read before other work gets its turn. */
const readsMax = 50_000_000
const readsPerTurn = 500_000
/** How far back the sample before a window is looked for: after a pause of the process. */
const lookBackTicks = 30

type Values = readonly (number | null)[]

interface Window {
  /** Of the first and the last point. */
  readonly startTick: number
  readonly endTick: number
  readonly stepTicks: number
  readonly pointCount: number
}

export async function answerQuery(history: History, query: MetricsQuery): Promise<MetricsResult> {
  const family = history.families.get(query.name)
  if (family === undefined) throw invalid(`query/name: no family ${JSON.stringify(query.name)} is held.`)
  requireFitting(family, query)
  const window = windowOf(query)
  const matching = [...family.series.values()].filter(series => matches(series, query))
  const groups = groupsOf(matching, query)
  if (groups.size > seriesMax) {
    throw invalid(`query: ${groups.size} series match, and an answer has at most ${seriesMax}. Name labels, or an agg.`)
  }
  const columnCount = matching.reduce((sum, { buckets }) => sum + (query.fn === 'quantile' ? buckets.size : 1), 0)
  if (columnCount * (window.endTick - window.startTick) > readsMax) {
    throw invalid('query: so many series over so long a time are too much at once. Name labels, or a shorter time.')
  }
  const series: ResultSeries[] = []
  const turns = createTurns()
  for (const { labels, members } of groups.values()) {
    series.push({ labels, values: await evaluate(history, family, query, window, members, turns) })
  }
  const { firstTick } = history
  return {
    type: family.type,
    start: window.startTick * tickSeconds,
    end: window.endTick * tickSeconds,
    step: window.stepTicks * tickSeconds,
    series,
    truncated: firstTick === undefined || window.startTick < firstTick,
    bufferStart: firstTick === undefined ? undefined : firstTick * tickSeconds,
  }
}

function requireFitting({ name, type }: HeldFamily, { fn, agg, by }: MetricsQuery): void {
  if (fn === 'quantile' && type !== 'histogram') throw invalid(`query/fn: ${name} is no histogram.`)
  if ((fn === 'rate' || fn === 'increase') && type === 'gauge') {
    throw invalid(`query/fn: ${name} is a gauge: it goes up and down, and has no ${fn}.`)
  }
  if (by.length > 0 && agg === 'none') throw invalid('query/by goes with query/agg.')
}

function windowOf({ start, end, step }: MetricsQuery): Window {
  if (step !== undefined && (step <= 0 || step % tickSeconds !== 0)) {
    throw invalid(`query/step: ${step} is not a multiple of ${tickSeconds} seconds.`)
  }
  if (start > end) throw invalid('query/start is later than query/end.')
  const endTick = Math.floor(end / tickSeconds)
  const span = endTick - Math.ceil(start / tickSeconds)
  const stepTicks = step === undefined ? Math.max(1, Math.ceil(span / (pointsDefault - 1))) : step / tickSeconds
  const pointCount = Math.max(0, Math.floor(span / stepTicks)) + 1
  if (pointCount > pointsMax) throw invalid(`query: ${pointCount} points, and at most ${pointsMax} are answered.`)
  return { startTick: endTick - (pointCount - 1) * stepTicks, endTick, stepTicks, pointCount }
}

function matches({ labels }: Series, query: MetricsQuery): boolean {
  return query.labels.every(({ name, value, isEqual }) => ((labels[name] ?? '') === value) === isEqual)
}

interface Group {
  readonly labels: Readonly<Record<string, string>>
  readonly members: Series[]
}

function groupsOf(matching: readonly Series[], { agg, by }: MetricsQuery): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>()
  for (const [index, series] of matching.entries()) {
    const labels =
      agg === 'none' ? series.labels : Object.fromEntries(by.map(name => [name, series.labels[name] ?? '']))
    const key = agg === 'none' ? String(index) : JSON.stringify(Object.values(labels))
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { labels, members: [series] })
    else group.members.push(series)
  }
  return groups
}

async function evaluate(
  history: History,
  family: HeldFamily,
  { fn, q, agg }: MetricsQuery,
  window: Window,
  members: readonly Series[],
  turns: (reads: number) => Promise<void>,
): Promise<Values> {
  const read = async (column: Column, isIncrease: boolean): Promise<Values> => {
    await turns(window.endTick - window.startTick)
    return isIncrease ? increaseOf(column, window, history.beganTick) : samplesOf(column, window)
  }
  if (fn === 'quantile' && agg === 'sum') {
    const sums = new Map<number, Values>()
    for (const { buckets } of members) {
      for (const [bound, column] of buckets) {
        const own = await read(column, true)
        const sum = sums.get(bound)
        sums.set(bound, sum === undefined ? own : combine([sum, own], 'sum'))
      }
    }
    return quantileOf(sums, q, window)
  }
  const results: Values[] = []
  for (const { value, buckets } of members) {
    if (fn === 'quantile') {
      const increases = new Map<number, Values>()
      for (const [bound, column] of buckets) increases.set(bound, await read(column, true))
      results.push(quantileOf(increases, q, window))
      continue
    }
    // Of a histogram: the number of observations.
    const column = family.type === 'histogram' ? buckets.get(Number.POSITIVE_INFINITY) : value
    if (column === undefined) continue
    const values = await read(column, fn !== 'raw')
    const seconds = window.stepTicks * tickSeconds
    results.push(fn === 'rate' ? values.map(each => (each === null ? null : each / seconds)) : values)
  }
  return agg === 'none' ? (results[0] ?? new Array(window.pointCount).fill(null)) : combine(results, agg, window)
}

/** The last sample of each step. */
function samplesOf(column: Column, { startTick, stepTicks, pointCount }: Window): Values {
  const from = startTick - stepTicks + 1
  const samples = column.read(from, pointCount * stepTicks)
  return Array.from({ length: pointCount }, (_, point) => {
    for (let at = (point + 1) * stepTicks - 1; at >= point * stepTicks; at--) {
      if (!Number.isNaN(samples[at])) return samples[at]
    }
    return null
  })
}

/** How much a counter went up in each step. A value below the one before is a counter that began anew. */
function increaseOf(column: Column, { startTick, stepTicks, pointCount }: Window, beganTick: number): Values {
  const from = startTick - stepTicks + 1
  const samples = column.read(from - lookBackTicks, lookBackTicks + pointCount * stepTicks)
  // A series that was not there before has counted from zero.
  const bornTick = column.firstTick
  const isBornLater = bornTick > beganTick
  let previous: number | undefined
  const take = (index: number): number | undefined => {
    const value = samples[index]
    if (Number.isNaN(value)) return undefined
    const before = previous ?? (isBornLater && from - lookBackTicks + index === bornTick ? 0 : undefined)
    previous = value
    if (before === undefined) return undefined
    return value >= before ? value - before : value
  }
  for (let index = 0; index < lookBackTicks; index++) take(index)
  return Array.from({ length: pointCount }, (_, point) => {
    let sum: number | null = null
    for (let at = 0; at < stepTicks; at++) {
      const more = take(lookBackTicks + point * stepTicks + at)
      if (more !== undefined) sum = (sum ?? 0) + more
    }
    return sum
  })
}

/** Linear within a bucket, as Prometheus does it. Null where nothing was observed. */
function quantileOf(increases: ReadonlyMap<number, Values>, q: number, { pointCount }: Window): Values {
  const bounds = [...increases.keys()].sort((a, b) => a - b)
  return Array.from({ length: pointCount }, (_, point) => {
    const counts = bounds.map(bound => increases.get(bound)![point] ?? 0)
    const total = counts.at(-1) ?? 0
    if (total <= 0) return null
    const rank = q * total
    const at = counts.findIndex(count => count > 0 && count >= rank)
    // Above the largest bound nothing more is known.
    if (at === bounds.length - 1) return bounds.at(-2) ?? null
    const [low, below] = at === 0 ? [0, 0] : [bounds[at - 1], counts[at - 1]]
    const within = counts[at] - below
    return within === 0 ? bounds[at] : low + ((bounds[at] - low) * (rank - below)) / within
  })
}

const combinations = {
  sum: (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0),
  avg: (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length,
  min: (values: readonly number[]) => values.reduce((least, value) => Math.min(least, value)),
  max: (values: readonly number[]) => values.reduce((most, value) => Math.max(most, value)),
} as const

/** Series without a sample do not count. */
function combine(all: readonly Values[], agg: keyof typeof combinations, window?: Window): Values {
  const length = window?.pointCount ?? all[0]?.length ?? 0
  return Array.from({ length }, (_, point) => {
    const values = all.map(series => series[point]).filter(value => value !== null)
    return values.length === 0 ? null : combinations[agg](values)
  })
}

function createTurns(): (reads: number) => Promise<void> {
  let left = readsPerTurn
  return async reads => {
    left -= reads
    if (left > 0) return
    left = readsPerTurn
    await nextTurn()
  }
}

const invalid = (detail: string): Error => adminErrors.invalid_argument(detail)
