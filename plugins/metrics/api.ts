/**
 * Metrics: prom-client's registry of this thread, and the sum over all threads. Names are those of the specification
 * (`svc_…`); labels never hold object keys. The plugin `prometheus` serves them.
 */
import type { Counter, Gauge, Histogram } from 'prom-client'

export interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

/** What plugins declare their families with. */
export interface MetricFamilies {
  /**
   * The values of all threads are added up. Several plugins may name one counter or gauge, with the same labels, and fill it for
   * values of a label that are their own (events and audit records are told to targets). A histogram is taken once.
   */
  counter(
    options: MetricOptions & {
      /** Adds, at each scrape, what came since the last one; of the first who names the counter. */
      collect?(counter: Counter): void
    },
  ): Counter
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): Histogram
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
  /** The text of a scrape: every thread's values combined, labelled with this node's name. */
  scrape(): Promise<string>
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
} as unknown as Counter & Gauge & Histogram

/** In the place of the service where the plugin is not loaded: families without values, that nobody collects. */
export const noMetrics: MetricsService = {
  counter: () => nothing,
  histogram: () => nothing,
  gauge: () => nothing,
  contentType: 'text/plain; charset=utf-8',
  scrape: async () => '',
}

declare module 'svc/kernel' {
  interface Services {
    metrics: MetricsService
  }
}
