/** Metrics of key management. Names as in the specification. */
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { KmsStatus } from './api.ts'

/** `status`: undefined except in the main thread, which reports for the node. */
export function registerFamilies(metrics: MetricsService, status: (() => KmsStatus) | undefined) {
  const errors = metrics.counter({
    name: 'svc_kms_errors_total',
    help:
      'Failed operations of key management, by operation and reason. master_key_missing, not_configured: the log and the status of the KMS ' +
      'say which key to configure; unavailable: the key server does not answer.',
    labels: ['op', 'reason'],
  })
  if (status !== undefined) {
    metrics.gauge({
      name: 'svc_kms_online',
      help: 'Whether keys are available: 1 or 0. Absent without key management.',
      collect(gauge) {
        gauge.reset()
        const { isConfigured, online } = status()
        if (isConfigured) gauge.set(online ? 1 : 0)
        else gauge.remove()
      },
    })
  }
  return { onError: (op: string, reason: string) => errors.inc({ op, reason }) }
}
