/**
 * Metrics: prom-client's registry of this thread, and the sum over all threads. Names are those of the specification
 * (`svc_…`); labels never hold object keys. The plugin `prometheus` serves them.
 */
import type { Counter, Gauge } from 'prom-client'

export { createRestingReader } from './resting-reader.ts'

export interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  /** The endpoint that shows the family; default `node`. */
  readonly scope?: MetricScope
}

/** `node`: what a node knows of itself. `cluster`: what is the same of whichever node. `bucket`: with the label `bucket`. */
export type MetricScope = 'node' | 'cluster' | 'bucket'

/** Most values of the label `bucket` in a family of the scope `bucket`; further buckets are summed as `otherBuckets`. */
export const bucketLabelsMax = 1000
export const otherBuckets = '_other'

/** One family with the values of all threads. */
export interface FamilySamples {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** Without `le`. */
  readonly labels: readonly string[]
  readonly samples: readonly Sample[]
}

export interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  /** Of a histogram: the name of the family with `_bucket` (label `le`), `_sum` or `_count`. */
  readonly metricName?: string
}

/** Times or sizes, sorted into buckets. Whoever observes often keeps the child. */
export interface HistogramFamily {
  labels(...values: string[]): { observe(value: number): void }
}

/** What plugins declare their families with. */
export interface MetricFamilies {
  /**
   * The values of all threads are added up. Several plugins may name one counter or gauge, with the same labels, and fill it for
   * values of a label that are their own (events and audit records are told to targets). A histogram is taken once.
   */
  counter(
    options: MetricOptions & {
      /** Brings the counter up to date at each scrape; of the first who names the counter. */
      collect?(counter: Counter): void | Promise<void>
    },
  ): Counter
  histogram(
    options: MetricOptions & { /** Upper bounds, ascending. */ readonly buckets: readonly number[] },
  ): HistogramFamily
  /** `collect` sets the values at each scrape. `aggregate` says how the values of threads combine; default sum. */
  gauge(
    options: MetricOptions & {
      readonly aggregate?: 'sum' | 'max' | 'first'
      collect?(gauge: Gauge): void | Promise<void>
    },
  ): Gauge
}

export interface MetricsService extends MetricFamilies {
  /** The media type of `scrape`. */
  readonly contentType: string
  /**
   * The text of a scrape of `/svc/metrics/v1/<scope>` (default `node`): every thread's values combined. Families of the node are labelled with its
   * name (`server`); `cluster` has them, too.
   */
  scrape(scope?: MetricScope): Promise<string>
  /** The same as data, of every scope and without the name of the node. */
  sample(): Promise<readonly FamilySamples[]>
}

/** Takes what is counted, and keeps nothing. */
const nothing = {
  inc() {},
  dec() {},
  set() {},
  observe() {},
  reset() {},
  remove() {},
  labels: () => nothing,
} as unknown as Counter & Gauge & HistogramFamily

/** In the place of the service where the plugin is not loaded: families without values, that nobody collects. */
export const noMetrics: MetricsService = {
  counter: () => nothing,
  histogram: () => nothing,
  gauge: () => nothing,
  contentType: 'text/plain; charset=utf-8',
  scrape: async () => '',
  sample: async () => [],
}

declare module 'svc/kernel' {
  interface Services {
    metrics: MetricsService
  }
}
