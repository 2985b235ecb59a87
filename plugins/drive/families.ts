/** Families of the operations of drives. Each thread counts its own. */
import type { Counter } from 'prom-client'
import type { MetricsService } from 'svc/plugins/metrics/api'
import { DiskMeter, diskErrorTypes, diskOperations } from './metered-disk.ts'

/** Returns the meter of a drive: always the same one for a path. */
export function registerFamilies(metrics: MetricsService): (path: string) => DiskMeter {
  const meters = new Map<string, DiskMeter>()
  const family = (
    name: string,
    help: string,
    label: 'op' | 'type',
    values: readonly string[],
    of: (meter: DiskMeter, index: number) => number,
  ) =>
    metrics.counter({
      name,
      help,
      labels: ['drive', label],
      collect(counter: Counter) {
        counter.reset()
        for (const [drive, meter] of meters) {
          for (const [index, value] of values.entries()) counter.inc({ drive, [label]: value }, of(meter, index))
        }
      },
    })
  family(
    'svc_drive_operations_total',
    'Operations on files of the drive by kind, the failed ones too. The index is mapped into memory and not counted.',
    'op',
    diskOperations,
    ({ counts }, index) => counts[index],
  )
  family(
    'svc_drive_operation_seconds_total',
    'Time until those operations were done; in a set with the wait for their turn.',
    'op',
    diskOperations,
    ({ milliseconds }, index) => milliseconds[index] / 1000,
  )
  family(
    'svc_drive_errors_total',
    'Operations on files of the drive that failed, by reason. A file that is not there is no failure.',
    'type',
    diskErrorTypes,
    ({ errors }, index) => errors[index],
  )
  return path => {
    const meter = meters.get(path) ?? new DiskMeter()
    meters.set(path, meter)
    return meter
  }
}
