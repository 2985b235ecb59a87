/** Rates, increases, quantiles and sums, as they come out of samples. */
import type { FamilySamples } from 'svc/plugins/metrics/api'
import t, { type Test } from 'tap'
import type { MetricsQuery } from '../api.ts'
import { createHistory, type History } from '../history.ts'
import { answerQuery } from '../query.ts'

type Points = readonly (number | undefined)[]

/** Families by name with the points of each series, from the tick 100 on; a series is named by its labels: `a=1,b=2`. */
function historyOf(
  families: Readonly<Record<string, { type: FamilySamples['type']; series: Readonly<Record<string, Points>> }>>,
): History {
  const history = createHistory()
  const length = Math.max(
    ...Object.values(families).flatMap(({ series }) => Object.values(series).map(points => points.length)),
  )
  for (let at = 0; at < length; at++) {
    history.add(
      100 + at,
      Object.entries(families).map(([name, { type, series }]) => ({
        name,
        help: '',
        type,
        labels: ['a', 'b'],
        samples: Object.entries(series).flatMap(([text, points]) => {
          const value = points[at]
          if (value === undefined) return []
          const labels = Object.fromEntries(text === '' ? [] : text.split(',').map(pair => pair.split('=')))
          return [{ labels, value, ...(type === 'histogram' && { metricName: `${name}_bucket` }) }]
        }),
      })),
    )
  }
  return history
}

const usual = { labels: [], fn: 'raw', q: 0.5, agg: 'none', by: [], step: 10, start: 1000, end: 1000 } as const
const ask = async (history: History, query: Partial<MetricsQuery> & { readonly name: string }) =>
  answerQuery(history, { ...usual, ...query })
const valuesOf = async (history: History, query: Partial<MetricsQuery> & { readonly name: string }) =>
  (await ask(history, query)).series.map(({ values }) => values)

t.test('samples, at steps of several points, and nothing where there was none', async t => {
  const history = historyOf({ g: { type: 'gauge', series: { '': [1, 2, undefined, 4, 5, undefined] } } })
  t.same(await valuesOf(history, { name: 'g', end: 1050 }), [[1, 2, null, 4, 5, null]])
  t.same(await valuesOf(history, { name: 'g', start: 1010, end: 1055, step: 20 }), [[2, 4, 5]])
  const early = await ask(history, { name: 'g', start: 970, end: 1015 })
  t.same(early.series[0]!.values, [null, null, null, 1, 2])
  t.match(early, { start: 970, end: 1010, step: 10, truncated: true, bufferStart: 1000 })
  t.match(await ask(history, { name: 'g', end: 1050 }), { truncated: false })
})

t.test('increases and rates of counters that begin anew, pause, or come up later', async t => {
  const series = { 'a=1': [10, 15, 15, 3, undefined, 9], 'a=2': [undefined, undefined, undefined, 7, 8, 8] }
  const history = historyOf({ c: { type: 'counter', series } })
  t.same(await valuesOf(history, { name: 'c', fn: 'increase', end: 1050 }), [
    [null, 5, 0, 3, null, 6],
    [null, null, null, 7, 1, 0],
  ])
  t.same(await valuesOf(history, { name: 'c', fn: 'rate', start: 1010, end: 1050, step: 20 }), [
    [5 / 20, 3 / 20, 6 / 20],
    [null, 7 / 20, 1 / 20],
  ])
  t.same(await valuesOf(history, { name: 'c', fn: 'increase', agg: 'sum', end: 1050 }), [[null, 5, 0, 10, 1, 6]])
})

t.test('series are chosen by labels and put together by labels', async t => {
  const series = { 'a=1,b=x': [1], 'a=1,b=y': [2], 'a=2,b=x': [4], 'b=x': [8] }
  const history = historyOf({ g: { type: 'gauge', series } })
  const only = (...filters: string[]) =>
    filters.map(text => {
      const [, name, operator, value] = /^(\w+)(!?=)(.*)$/.exec(text)!
      return { name: name!, value: value!, isEqual: operator === '=' }
    })
  t.same(await valuesOf(history, { name: 'g', labels: only('a=1') }), [[1], [2]])
  t.same(await valuesOf(history, { name: 'g', labels: only('a=1', 'b!=x') }), [[2]])
  t.same(await valuesOf(history, { name: 'g', labels: only('a=') }), [[8]], 'without that label')
  t.same((await ask(history, { name: 'g', agg: 'sum', by: ['a'] })).series, [
    { labels: { a: '1' }, values: [3] },
    { labels: { a: '2' }, values: [4] },
    { labels: { a: '' }, values: [8] },
  ])
  const all = async (agg: MetricsQuery['agg']) => (await valuesOf(history, { name: 'g', agg }))[0]
  t.same([await all('sum'), await all('avg'), await all('min'), await all('max')], [[15], [3.75], [1], [8]])
})

t.test('quantiles are computed of the observations of each step', async t => {
  const series = {
    'a=1,le=1': [0, 1, 1, 1],
    'a=1,le=2': [0, 3, 3, 3],
    'a=1,le=+Inf': [0, 4, 4, 14],
    'a=2,le=1': [0, 4, 4, 4],
    'a=2,le=2': [0, 4, 4, 4],
    'a=2,le=+Inf': [0, 4, 4, 4],
  }
  const history = historyOf({ h: { type: 'histogram', series } })
  const median = { name: 'h', fn: 'quantile', q: 0.5, end: 1030 } as const
  t.same(await valuesOf(history, median), [
    [null, 1.5, null, 2],
    [null, 0.5, null, null],
  ])
  t.same(await valuesOf(history, { ...median, agg: 'sum' }), [[null, 0.8, null, 2]], 'of all observations')
  t.same(await valuesOf(history, { ...median, agg: 'max' }), [[null, 1.5, null, 2]])
  t.same(await valuesOf(history, { ...median, q: 0 }), [
    [null, 0, null, 2],
    [null, 0, null, null],
  ])
  t.same(await valuesOf(history, { name: 'h', fn: 'raw', end: 1030 }), [
    [0, 4, 4, 14],
    [0, 4, 4, 4],
  ])
})

async function refuses(t: Test, history: History, query: Partial<MetricsQuery> & { name: string }, pattern: RegExp) {
  await t.rejects(ask(history, query), { code: 'invalid_argument', status: 400, message: pattern })
}

t.test('queries that cannot be answered are refused with the reason', async t => {
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`a=${index}`, [1]]))
  const history = historyOf({
    g: { type: 'gauge', series: many },
    c: { type: 'counter', series: { '': [1] } },
  })
  await refuses(t, history, { name: 'svc_nothing' }, /no family "svc_nothing"/)
  await refuses(t, history, { name: 'c', step: 15 }, /15 is not a multiple of 10/)
  await refuses(t, history, { name: 'c', start: 0, end: 86_400 }, /8641 points/)
  t.equal((await valuesOf(history, { name: 'c', start: 10, end: 86_400 }))[0]!.length, 8640)
  await refuses(t, history, { name: 'g' }, /201 series/)
  t.same(await valuesOf(history, { name: 'g', agg: 'sum' }), [[201]], 'their sum is one')
  await refuses(t, history, { name: 'g', fn: 'rate' }, /is a gauge/)
  await refuses(t, history, { name: 'c', fn: 'quantile' }, /is no histogram/)
  await refuses(t, history, { name: 'c', by: ['a'] }, /query\/by goes with query\/agg/)
  await refuses(t, history, { name: 'c', start: 20, end: 10 }, /later/)
  for (const hours of [1, 24]) {
    const { step, series } = await ask(history, {
      name: 'c',
      start: 100_000 - hours * 3600,
      end: 100_000,
      step: undefined,
    })
    t.ok(series[0]!.values.length <= 360 && step % 10 === 0, `${step} s`)
  }
})
