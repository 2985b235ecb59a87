/** Metrics of the progress of a drive's rebuild since it began. */
import type { Gauge } from 'prom-client'
import type { Logger } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { RebuildProgress, StorageService } from 'svc/plugins/storage/api'

const families: readonly (readonly [name: string, help: string, of: (progress: RebuildProgress) => number])[] = [
  ['started_timestamp_seconds', 'When the rebuild began, in seconds since 1970.', ({ startedMs }) => startedMs / 1000],
  ['healed_records', 'Versions and parts whose shards the drive got.', ({ healed }) => healed],
  ['healed_bytes', 'Bytes of those shards.', ({ healedBytes }) => healedBytes],
  ['failed_records', 'Attempts that left the drive without a shard. They are repeated.', ({ failed }) => failed],
  ['failed_bytes', 'Bytes of those shards.', ({ failedBytes }) => failedBytes],
  ['retried_records', 'Attempts for versions and parts whose last one had failed.', ({ retried }) => retried],
]

/** Absent for drives that are not rebuilt. */
export function registerRebuildFamilies(
  metrics: MetricsService,
  storage: Pick<StorageService, 'drives'>,
  log: Logger,
): void {
  for (const [name, help, of] of families) {
    metrics.gauge({
      name: `svc_heal_drive_${name}`,
      help,
      labels: ['drive'],
      async collect(gauge: Gauge) {
        gauge.reset()
        try {
          for (const { path, place } of await storage.drives()) {
            if (place?.rebuild !== undefined) gauge.set({ drive: path }, of(place.rebuild))
          }
        } catch (error) {
          // The drive metrics already show this.
          log.debug({ err: error, family: name }, 'drives cannot be read for metrics')
        }
      },
    })
  }
}
