/** Metrics of lifecycle rules. Names as in the specification, if it has them. */
import type { BackgroundWorker } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { LifecycleAction } from './run.ts'
import type { LifecycleWorker } from './worker.ts'

export interface LifecycleFamilies {
  onAction(action: LifecycleAction): void
  onRound(): void
  /** The worker, with its failures counted and its lag measured. */
  watch(worker: LifecycleWorker): BackgroundWorker
}

/** In the main thread only, which applies all rules. */
export function registerFamilies(metrics: MetricsService, isMain: boolean): LifecycleFamilies {
  if (!isMain) return { onAction: () => undefined, onRound: () => undefined, watch: worker => worker }
  const actions = metrics.counter({
    name: 'svc_ilm_actions_total',
    help: 'Actions of lifecycle rules on versions, delete markers and uploads, by kind of action.',
    labels: ['action'],
  })
  const errors = metrics.counter({
    name: 'svc_ilm_errors_total',
    help: 'Failures while lifecycle rules were applied. The bucket is tried again.',
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
        help: 'How long ago the versions that lifecycle rules are working on became due; 0 if nothing is due.',
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
