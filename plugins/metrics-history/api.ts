/** The last 24 hours of the metrics of this node. */
import type { FamilySamples } from 'svc/plugins/metrics/api'

export interface MetricFamily extends Pick<FamilySamples, 'name' | 'help' | 'type' | 'labels'> {}

export interface MetricsQuery {
  readonly name: string
  readonly labels: readonly LabelFilter[]
  /** Seconds since 1970, both. */
  readonly start: number
  readonly end: number
  /** Seconds. Default: at most 360 points. */
  readonly step: number | undefined
  readonly fn: 'raw' | 'rate' | 'increase' | 'quantile'
  /** 0 to 1. */
  readonly q: number
  readonly agg: 'none' | 'sum' | 'avg' | 'min' | 'max'
  /** Labels that all series of one group share. */
  readonly by: readonly string[]
}

export interface LabelFilter {
  readonly name: string
  /** A label that a series does not have is empty. */
  readonly value: string
  readonly isEqual: boolean
}

export interface MetricsResult {
  readonly type: FamilySamples['type']
  /** Seconds since 1970: of the first and the last point. */
  readonly start: number
  readonly end: number
  readonly step: number
  readonly series: readonly ResultSeries[]
  /** The requested range begins before the oldest point. */
  readonly truncated: boolean
  /** Seconds since 1970, of the oldest point; undefined before the first. */
  readonly bufferStart: number | undefined
}

export interface ResultSeries {
  readonly labels: Readonly<Record<string, string>>
  /** Of `start`, `start + step`, …; null: no sample. */
  readonly values: readonly (number | null)[]
}

export interface MetricsHistoryService {
  /** By name. */
  families(): Promise<readonly MetricFamily[]>
  /** Rejects with `invalid_argument`. */
  query(query: MetricsQuery): Promise<MetricsResult>
}

declare module 'svc/kernel' {
  interface Services {
    metricsHistory: MetricsHistoryService
  }
}
