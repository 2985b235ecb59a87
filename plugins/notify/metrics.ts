import type { MetricsService } from 'svc/plugins/metrics/api'
import { registerTargetFamilies, type TargetFamilies } from 'svc/plugins/queue/api'
import type { NotifyTargetState } from './api.ts'

export interface NotifyFamilies extends TargetFamilies {
  onNotQueued(target: string, count: number): void
}

/** `states`: in the main thread alone. */
export function registerFamilies(
  metrics: MetricsService,
  states: (() => Promise<readonly NotifyTargetState[]>) | undefined,
): NotifyFamilies {
  const notQueued = metrics.counter({
    name: 'svc_events_not_queued_total',
    help: 'Events that found the queue of their target full: changes are kept for a replay, reads are not.',
    labels: ['target'],
  })
  const pendingOf = ({ id, isOnline, pendingEvents: pending }: NotifyTargetState) => ({ id, isOnline, pending })
  return {
    ...registerTargetFamilies(metrics, states && (async () => (await states()).map(pendingOf))),
    onNotQueued: (target, count) => notQueued.inc({ target }, count),
  }
}
