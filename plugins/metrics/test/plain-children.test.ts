import { AggregatorRegistry, Counter, Histogram, type MetricObject, Registry } from 'prom-client'
import t from 'tap'
import { PlainCounter, PlainHistogram } from '../plain-children.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
let state = seed
/** In [0, 1). */
const random = () => {
  state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
  return state / 2 ** 31
}

/** As the server is scraped; the series in an order that does not depend on which came first. */
async function textOf(registry: Registry): Promise<string[]> {
  const sum = AggregatorRegistry.aggregate([await registry.getMetricsAsJSON()] as unknown as MetricObject[])
  return (await sum.metrics()).split('\n').sort()
}

t.test(`counters and histograms say what those of prom-client say, seed ${seed}`, async t => {
  const ours = new Registry()
  const theirs = new Registry()
  const count = { name: 'requests_total', help: 'Requests.', labelNames: ['api', 'status'] }
  const time = { name: 'seconds', help: 'Time.', labelNames: ['api'], buckets: [0.1, 0.5, 2] }
  const counters = [
    new PlainCounter({ ...count, registers: [ours] }),
    new Counter({ ...count, registers: [theirs] }),
  ] as const
  const histograms = [
    new PlainHistogram({ ...time, registers: [ours] }),
    new Histogram({ ...time, registers: [theirs] }),
  ] as const
  t.same(await textOf(ours), await textOf(theirs), 'before anything was counted')
  for (let round = 0; round < 20; round++) {
    for (let step = 0; step < 50; step++) {
      const api = random() < 0.5 ? 'Get' : 'Put'
      const status = random() < 0.5 ? '200' : '404'
      // Eighths are added up exactly, in whichever order.
      const value = Math.floor(random() * 24) / 8
      const way = random()
      for (const counter of counters) {
        if (way < 0.3) counter.labels(api, status).inc()
        else if (way < 0.6) counter.labels({ api, status }).inc(value)
        else if (way < 0.9) counter.inc({ api, status }, value)
        else counter.labels(api, '500').inc(0)
      }
      for (const histogram of histograms) histogram.labels(api).observe(value)
    }
    t.same(await textOf(ours), await textOf(theirs))
    if (round === 10) for (const counter of counters) counter.reset()
  }
})

t.test('a kept child goes on after a reset of its counter', async t => {
  const registry = new Registry()
  const counter = new PlainCounter({ name: 'a_total', help: 'A.', labelNames: ['b'], registers: [registry] })
  const child = counter.labels('c')
  child.inc(3)
  counter.reset()
  child.inc(4)
  t.match(await registry.metrics(), 'a_total{b="c"} 4')
})

t.test('what cannot be counted is refused', async t => {
  const registers = [new Registry()]
  const counter = new PlainCounter({ name: 'a_total', help: 'A.', labelNames: ['b'], registers })
  const histogram = new PlainHistogram({ name: 'c', help: 'C.', labelNames: ['b'], buckets: [1], registers })
  t.throws(() => counter.labels('x').inc(-1), /cannot grow by -1/)
  t.throws(() => counter.labels('x').inc(Number.NaN), /cannot grow by NaN/)
  t.throws(() => histogram.labels('x').observe(Number.POSITIVE_INFINITY), /cannot take Infinity/)
  t.throws(() => counter.labels('x', 'y'), /labels are b, not x, y/)
  t.throws(() => counter.labels({}), /labels are b/)
})
