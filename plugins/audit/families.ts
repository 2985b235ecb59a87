import type { MetricsService } from 'svc/plugins/metrics/api'
import { registerTargetFamilies, type TargetFamilies, type TargetFamilyState } from 'svc/plugins/queue/api'

export interface AuditFamilies extends TargetFamilies {
  onDropped(target: string, count: number): void
}

/** `states`: in the main thread alone. */
export function registerFamilies(
  metrics: MetricsService,
  states: (() => Promise<readonly TargetFamilyState[]>) | undefined,
): AuditFamilies {
  const dropped = metrics.counter({
    name: 'svc_audit_dropped_total',
    help: 'Audit records that did not reach their target: its queue was full, or could not be written.',
    labels: ['target'],
  })
  return {
    ...registerTargetFamilies(metrics, states),
    onDropped: (target, count) => dropped.inc({ target }, count),
  }
}
