/**
 * Metrics: prom-client's registry of this thread, and the sum over all threads at `/svc/metrics/v1/node`. Names are those
 * of the specification (`svc_…`); labels never hold object keys.
 */
import type { Counter, Gauge, Histogram } from 'prom-client'

export interface MetricOptions {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
}

export interface MetricsService {
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

declare module 'svc/kernel' {
  interface Services {
    metrics: MetricsService
  }
}
