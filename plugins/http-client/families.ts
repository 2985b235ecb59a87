import type { MetricsService } from 'svc/plugins/metrics/api'

/** `result`: `2xx` to `5xx`, or why there was no answer. */
export type RequestCount = (purpose: string, result: string) => void

export function registerFamilies(metrics: MetricsService): { readonly count: RequestCount } {
  const requests = metrics.counter({
    name: 'svc_outbound_requests_total',
    help: 'Requests to places outside, by purpose and result: the class of the status, or why there was no answer.',
    labels: ['purpose', 'result'],
  })
  return { count: (purpose, result) => requests.inc({ purpose, result }) }
}
