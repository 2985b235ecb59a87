/** What is kept of samples: the same numbers, in few bytes, and never more than the bounds. */
import type { FamilySamples, Sample } from 'svc/plugins/metrics/api'
import t from 'tap'
import { Column, chunkTicks } from '../column.ts'
import { createHistory, historyTicks } from '../history.ts'

/** Deterministic numbers from 0 to 1. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const kinds: readonly (readonly [name: string, next: (value: number, random: () => number) => number])[] = [
  ['a constant', value => value],
  ['rare changes', (value, random) => (random() < 0.005 ? value + 1 : value)],
  ['small steps', (value, random) => value + Math.floor(random() * 2)],
  ['steps of two bytes', (value, random) => value + Math.floor(random() * 200)],
  ['steps of four bytes', (value, random) => value + Math.floor(random() * 1e6)],
  ['steps of more', (value, random) => value + Math.floor(random() * 1e9)],
  ['fractions', (value, random) => value + random()],
  ['negative numbers', (_, random) => Math.floor(random() * 100) - 1000],
]

for (const [name, next] of kinds) {
  t.test(`a column gives back what it was given: ${name}`, async t => {
    const seed = Number(process.env.SEED ?? 7)
    const random = createRandom(seed)
    const column = new Column()
    const firstTick = 1_000_003
    const expected = new Float64Array(5 * chunkTicks).fill(Number.NaN)
    let value = 5
    for (let at = 10; at < expected.length; at++) {
      value = next(value, random)
      // Pauses of one tick and of long.
      if (random() < 0.01 || (at > 500 && at < 560)) continue
      const sample = random() < 0.01 ? Number.NaN : value
      column.add(firstTick + at, sample)
      expected[at] = sample
    }
    t.same([...column.read(firstTick, expected.length)], [...expected], `seed ${seed}`)
    t.same([...column.read(firstTick + 300, 100)], [...expected.subarray(300, 400)])
    t.equal(column.firstTick, firstTick + expected.findIndex(each => !Number.isNaN(each)))
  })
}

const gauge = (name: string, samples: readonly Sample[]): FamilySamples => ({
  name,
  help: 'Test.',
  type: 'gauge',
  labels: ['series'],
  samples,
})
const numbered = (count: number, value: (series: number) => number) =>
  Array.from({ length: count }, (_, series) => ({ labels: { series }, value: value(series) }))

t.test('24 hours of constant series take little memory, and older points are dropped', async t => {
  const history = createHistory()
  const constant = [
    gauge(
      'svc_constant',
      numbered(100, series => series),
    ),
  ]
  const begin = 5000
  for (let tick = begin; tick < begin + 2 * historyTicks; tick++) history.add(tick, constant)
  t.equal(history.beganTick, begin)
  t.equal(history.firstTick, begin + historyTicks)
  t.ok(history.bytes > 0 && history.bytes / 100 < 5000, `${history.bytes / 100} bytes a series`)
  const changing = createHistory()
  for (let tick = begin; tick < begin + 2 * historyTicks; tick++) {
    changing.add(tick, [
      gauge(
        'svc_changing',
        numbered(10, series => tick * (series + 1)),
      ),
    ])
  }
  t.ok(changing.bytes / 10 < 40_000, `${changing.bytes / 10} bytes of a series that always changes`)
})

t.test('series that are gone for a day make room', async t => {
  const history = createHistory({ columnsMax: 3 })
  const series = () => [...history.families.get('svc_x')!.series.values()].map(({ labels }) => labels.series)
  const add = (from: number, count: number, names: readonly string[]) => {
    const samples = names.map(name => ({ labels: { series: name }, value: 1 }))
    for (let tick = from; tick < from + count; tick++) history.add(tick, [gauge('svc_x', samples)])
  }
  add(0, 10, ['a', 'b', 'c', 'd'])
  t.same(series(), ['a', 'b', 'c'], 'no more than that')
  add(10, historyTicks + 2 * chunkTicks, ['a', 'd'])
  t.same(series(), ['a', 'd'])
})

t.test('where the bytes do not suffice, the oldest points of all go', async t => {
  const bytesMax = 200_000
  const history = createHistory({ bytesMax })
  for (let tick = 0; tick < historyTicks; tick++) {
    history.add(tick, [
      gauge(
        'svc_x',
        numbered(20, series => tick / (series + 3)),
      ),
    ])
  }
  t.ok(history.bytes <= bytesMax, `${history.bytes} bytes`)
  t.ok(history.firstTick! > chunkTicks && history.firstTick! < historyTicks - chunkTicks, `from ${history.firstTick}`)
  const [{ value }] = history.families.get('svc_x')!.series.values()
  t.equal(value!.read(historyTicks - 1, 1)[0], (historyTicks - 1) / 3)
  t.ok(Number.isNaN(value!.read(0, 1)[0]))
})
