import type { MetricFamilies } from 'svc/plugins/metrics/api'
import type { SpanResult } from './exporter.ts'

export function registerFamilies(metrics: MetricFamilies): (result: SpanResult, spans: number) => void {
  const spans = metrics.counter({
    name: 'svc_tracing_spans_total',
    help: 'Spans of requests: exported to the collector, rejected by it, or dropped because it did not take them in time.',
    labels: ['result'],
  })
  return (result, count) => spans.inc({ result }, count)
}
