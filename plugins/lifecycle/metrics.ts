/** What lifecycle rules do, for the operator. Names as in the specification, where it has them. */
import type { BackgroundWorker } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { LifecycleAction } from './run.ts'
import type { LifecycleWorker } from './worker.ts'

export interface LifecycleFamilies {
  onAction(action: LifecycleAction): void
  onRound(): void
  /** The worker, with its failures counted and its lag shown. */
  watch(worker: LifecycleWorker): BackgroundWorker
}

/** Only in the main thread: it alone applies rules. */
export function registerFamilies(metrics: MetricsService, isMain: boolean): LifecycleFamilies {
  if (!isMain) return { onAction: () => undefined, onRound: () => undefined, watch: worker => worker }
  const actions = metrics.counter({
    name: 'svc_ilm_actions_total',
    help: 'What lifecycle rules did: versions, delete markers and uploads by kind of action.',
    labels: ['action'],
  })
  const errors = metrics.counter({
    name: 'svc_ilm_errors_total',
    help: 'Failures while lifecycle rules were applied. The bucket gets its turn again.',
  })
  const cycles = metrics.counter({
    name: 'svc_scanner_cycles_total',
    help: 'Complete cycles of the scanner, in each of which the lifecycle rules of every bucket were applied.',
  })
  return {
    onAction: action => actions.inc({ action }),
    onRound: () => cycles.inc(),
    watch(worker) {
      metrics.gauge({
        name: 'svc_ilm_lag_seconds',
        help: 'For how long what lifecycle rules are working on has been due; 0 when nothing is due.',
        collect: gauge => gauge.set(worker.lagMs() / 1000),
      })
      return {
        ...worker,
        async work(signal) {
          try {
            return await worker.work(signal)
          } catch (error) {
            errors.inc()
            throw error
          }
        },
      }
    },
  }
}
