/** Families of the drives under the storage backend, read when somebody scrapes. */
import type { Gauge } from 'prom-client'
import type { Logger } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { DriveStatus, StorageService } from 'svc/plugins/storage/api'
import { isReadable } from './drive-health.ts'

const families: readonly (readonly [name: string, help: string, value: (drive: DriveStatus) => number])[] = [
  ['svc_drive_online', 'Whether the drive can be read: 1 or 0.', drive => (isReadable(drive) ? 1 : 0)],
  ['svc_drive_total_bytes', 'Size of the file system of the drive.', drive => drive.totalBytes],
  ['svc_drive_used_bytes', 'Used bytes of that file system.', drive => drive.totalBytes - drive.freeBytes],
  ['svc_drive_free_bytes', 'Free bytes of that file system.', drive => drive.freeBytes],
  ['svc_drive_free_inodes', 'Free inodes of that file system.', drive => drive.freeInodes],
]

/** Call it in one thread only: the values describe the node. */
export function registerDriveFamilies(
  metrics: MetricsService,
  storage: Pick<StorageService, 'drives'>,
  log: Logger,
): void {
  for (const [name, help, value] of families) {
    metrics.gauge({
      name,
      help,
      labels: ['drive'],
      async collect(gauge: Gauge) {
        gauge.reset()
        try {
          for (const drive of await storage.drives()) gauge.set({ drive: drive.path }, value(drive))
        } catch (error) {
          // A backend that cannot even say how it is must not take the other families down with it.
          log.warn({ err: error }, 'drives cannot be read for metrics')
        }
      },
    })
  }
}
