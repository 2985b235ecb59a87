/** Metrics of targets, the same for events and audit records. The main thread shows the gauges of the node. */
import type { MetricsService } from 'svc/plugins/metrics/api'

/** What a gauge shows of a target. */
export interface MeasuredTarget {
  /** `webhook:_`, `audit_webhook:_` */
  readonly id: string
  readonly pending: number
  readonly isOnline: boolean
}

export interface TargetCounters {
  onSent(target: string, count: number): void
  onFailed(target: string): void
}

/** `states`: in the main thread alone. */
export function registerTargetMetrics(
  metrics: MetricsService,
  states: (() => Promise<readonly MeasuredTarget[]>) | undefined,
): TargetCounters {
  const labels = ['target']
  const sent = metrics.counter({ name: 'svc_events_sent_total', help: 'Events that their target has taken.', labels })
  const failed = metrics.counter({
    name: 'svc_events_failed_total',
    help: 'Attempts to deliver events that failed. They are tried again.',
    labels,
  })
  if (states !== undefined) {
    const gauge = (name: string, help: string, pick: (state: MeasuredTarget) => number) =>
      metrics.gauge({
        name: `svc_events_${name}`,
        help,
        labels,
        async collect(gauge) {
          gauge.reset()
          for (const state of await states()) gauge.set({ target: state.id }, pick(state))
        },
      })
    gauge('pending', 'Events that wait for their target.', ({ pending }) => pending)
    gauge('target_online', 'Whether the last delivery, or test, succeeded: 1 or 0.', ({ isOnline }) =>
      isOnline ? 1 : 0,
    )
  }
  return {
    onSent: (target, count) => sent.inc({ target }, count),
    onFailed: target => failed.inc({ target }),
  }
}
