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
  /** The values of all threads are added up. A name may be taken once per thread; the same for the other two. */
  counter(options: MetricOptions): Counter
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
