import type { MetricsService } from 'svc/plugins/metrics/api'

export type CountChange = (type: string, result: 'ok' | 'failed') => void

export function registerFamilies(metrics: MetricsService): CountChange {
  const changes = metrics.counter({
    name: 'svc_dns_changes_total',
    help: 'TXT values that providers were asked to publish or to remove, by the type of the provider and the result: ok or failed.',
    labels: ['type', 'result'],
  })
  return (type, result) => changes.inc({ type, result })
}
