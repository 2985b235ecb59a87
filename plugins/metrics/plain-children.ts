/**
 * Counters and histograms of prom-client whose children count into plain numbers. Those of prom-client look up their labels with every call:
 * 0.4 µs for a counter and 0.8 µs for a histogram, and each request has several.
 */
import { Counter, Histogram } from 'prom-client'

type Labels = Partial<Record<string, string | number>>
type CounterData = ReturnType<Counter['get']>
type HistogramData = ReturnType<Histogram['get']>
type HistogramValue = Awaited<HistogramData>['values'][number]

/** Children by the values of their labels: `labels('a', 'b')` and `labels({ one: 'a', other: 'b' })` are the same one. */
class Children<Child> {
  readonly #names: readonly string[]
  readonly #make: (labels: Labels) => Child
  readonly #all = new Map<string, Child>()

  constructor(names: readonly string[], make: (labels: Labels) => Child) {
    this.#names = names
    this.#make = make
  }

  of(given: readonly [Labels] | readonly string[]): Child {
    const [first] = given
    const values = typeof first === 'object' ? this.#names.map(name => first[name]) : (given as readonly string[])
    if (values.length !== this.#names.length || values.some(value => value === undefined)) {
      throw new TypeError(`metrics: labels are ${this.#names.join(', ')}, not ${values.join(', ')}`)
    }
    const key = JSON.stringify(values)
    let child = this.#all.get(key)
    if (child === undefined) {
      child = this.#make(Object.fromEntries(this.#names.map((name, index) => [name, values[index]])))
      this.#all.set(key, child)
    }
    return child
  }

  list = (): Iterable<Child> => this.#all.values()
}

class CounterChild {
  readonly labels: Labels
  /** Since the last scrape. Undefined as long as nothing was counted: the series is not there yet. */
  pending: number | undefined

  constructor(labels: Labels) {
    this.labels = labels
  }

  inc(value = 1): void {
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY))
      throw new RangeError(`metrics: a counter cannot grow by ${value}`)
    this.pending = (this.pending ?? 0) + value
  }
}

export class PlainCounter extends Counter {
  readonly #children: Children<CounterChild>

  constructor(options: ConstructorParameters<typeof Counter>[0]) {
    super(options)
    this.#children = new Children(options.labelNames ?? [], labels => new CounterChild(labels))
  }

  override labels(...values: [Labels] | string[]): Counter.Internal {
    return this.#children.of(values)
  }

  override reset(): void {
    super.reset()
    // The constructor of prom-client resets, too.
    if (#children in this) for (const child of this.#children.list()) child.pending = undefined
  }

  override get(): CounterData {
    for (const child of this.#children.list()) {
      if (child.pending === undefined) continue
      this.inc(child.labels, child.pending)
      child.pending = undefined
    }
    return super.get()
  }
}

class HistogramChild {
  readonly labels: Labels
  readonly bounds: readonly number[]
  /** By bucket; the last one is above all bounds. */
  readonly counts: number[]
  sum = 0

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels
    this.bounds = bounds
    this.counts = new Array(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError(`metrics: a histogram cannot take ${value}`)
    let bucket = 0
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++
    this.counts[bucket]!++
    this.sum += value
  }

  *values(name: string): Generator<HistogramValue> {
    const { labels, bounds, counts, sum } = this
    let count = 0
    for (const [bucket, here] of counts.entries()) {
      count += here
      yield { labels: { le: bounds[bucket] ?? '+Inf', ...labels }, value: count, metricName: `${name}_bucket` }
    }
    yield { labels, value: sum, metricName: `${name}_sum` }
    yield { labels, value: count, metricName: `${name}_count` }
  }
}

/** Takes what its children observe. `get` tells it; that of prom-client's registry as text does not. */
export class PlainHistogram extends Histogram {
  readonly #name: string
  readonly #children: Children<HistogramChild>

  constructor(options: ConstructorParameters<typeof Histogram>[0] & { readonly buckets: readonly number[] }) {
    super(options)
    this.#name = options.name
    this.#children = new Children(options.labelNames ?? [], labels => new HistogramChild(labels, options.buckets))
  }

  /** Children have no timer. */
  override labels(...values: [Labels] | string[]): Histogram.Internal<string> {
    return this.#children.of(values) as unknown as Histogram.Internal<string>
  }

  override async get(): HistogramData {
    const own = await super.get()
    const ofChildren = [...this.#children.list()].filter(({ counts }) => counts.some(count => count > 0))
    return { ...own, values: [...own.values, ...ofChildren.flatMap(child => [...child.values(this.#name)])] }
  }
}
