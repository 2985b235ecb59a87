/** Families of the drives under the storage backend, read when somebody scrapes. */
import type { Counter, Gauge } from 'prom-client'
import type { Logger } from 'svc/kernel'
import type { MetricsService } from 'svc/plugins/metrics/api'
import { type DriveStatus, isReadable, type StorageService, summarizeSets, usedBytes } from './api.ts'

type DriveFamily = readonly [name: string, help: string, value: (drive: DriveStatus) => number]

const families: readonly DriveFamily[] = [
  ['svc_drive_online', 'Whether the drive can be read: 1 or 0.', drive => (isReadable(drive) ? 1 : 0)],
  [
    'svc_drive_healing',
    'Whether the drive lacks records or shards and is being given them: 1 or 0.',
    drive => (drive.place?.isHealing === true ? 1 : 0),
  ],
  ['svc_drive_total_bytes', 'Size of the file system of the drive.', drive => drive.totalBytes],
  ['svc_drive_used_bytes', 'Used bytes of that file system, as df shows them.', usedBytes],
  ['svc_drive_free_bytes', 'Bytes of that file system that the server may still write.', drive => drive.freeBytes],
  [
    'svc_drive_reserved_bytes',
    'Bytes of that file system that are kept for root: total is used, free and reserved.',
    drive => drive.reservedBytes ?? 0,
  ],
  ['svc_drive_free_inodes', 'Free inodes of that file system.', drive => drive.freeInodes],
  [
    'svc_drive_damaged_segments',
    'Files of the journal that are not what was written, and are kept because something in them is needed.',
    drive => drive.metrics?.damagedSegments ?? 0,
  ],
  [
    'svc_drive_damaged_bodies',
    'Bodies of objects that readers found missing or damaged since the start. Of sets: see svc_redundancy_….',
    drive => drive.metrics?.damagedBodies ?? 0,
  ],
  [
    'svc_drive_journal_bytes',
    'Bytes of the journal of the drive: records and small bodies, those that nothing needs any more among them.',
    drive => drive.metrics?.journalBytes ?? 0,
  ],
  [
    'svc_drive_journal_live_bytes',
    'Bytes of the journal that records in use take. Compaction gives back the others.',
    drive => drive.metrics?.journalLiveBytes ?? 0,
  ],
]

/** Since the drive was opened. */
const totals: readonly DriveFamily[] = [
  [
    'svc_drive_compacted_segments_total',
    'Files of the journal that compaction has deleted, since the drive was opened.',
    drive => drive.metrics?.compactedSegments ?? 0,
  ],
  [
    'svc_drive_compaction_moved_bytes_total',
    'Bytes of records in use that compaction has written again, since the drive was opened.',
    drive => drive.metrics?.compactionMovedBytes ?? 0,
  ],
]

const setHelp = {
  healthy: 'Sets all of whose drives are online and have all records.',
  degraded: 'Sets without some of their drives that are read and written all the same.',
  read_only: 'Sets that can only be read.',
  unavailable: 'Sets that cannot be read.',
} as const

const states = ['healthy', 'degraded', 'read_only', 'unavailable'] as const

/** Metrics of all drives together, or per pool. */
const clusterFamilies: readonly (readonly [
  name: string,
  help: string,
  labels: readonly string[],
  set: (gauge: Gauge, drives: readonly DriveStatus[]) => void,
])[] = [
  ['svc_cluster_drives_total', 'Drives that were named.', [], (gauge, drives) => gauge.set(drives.length)],
  [
    'svc_cluster_drives_online',
    'Drives that can be read.',
    [],
    (gauge, drives) => gauge.set(drives.filter(isReadable).length),
  ],
  [
    'svc_cluster_drives_offline',
    'Drives that cannot be read.',
    [],
    (gauge, drives) => gauge.set(drives.filter(drive => !isReadable(drive)).length),
  ],
  [
    'svc_cluster_drives_healing',
    'Drives that lack records or shards and are being given them.',
    [],
    (gauge, drives) => gauge.set(drives.filter(({ place }) => place?.isHealing === true).length),
  ],
  ...states.map(
    state =>
      [
        `svc_cluster_sets_${state}`,
        setHelp[state],
        ['pool'],
        (gauge: Gauge, drives: readonly DriveStatus[]) => {
          for (const summary of summarizeSets(drives)) {
            const own = summary.state === 'ok' ? 'healthy' : summary.state
            gauge.inc({ pool: String(summary.pool) }, own === state ? 1 : 0)
          }
        },
      ] as const,
  ),
  ...(['read', 'write'] as const).map(
    kind =>
      [
        `svc_cluster_${kind}_quorum`,
        `Drives of a set that must have all records for ${kind}s.`,
        ['pool'],
        (gauge: Gauge, drives: readonly DriveStatus[]) => {
          for (const summary of summarizeSets(drives)) {
            gauge.set({ pool: String(summary.pool) }, summary[`${kind}Quorum`])
          }
        },
      ] as const,
  ),
]

/** Call it in one thread only: the values describe the node. */
export function registerDriveFamilies(
  metrics: MetricsService,
  storage: Pick<StorageService, 'drives'>,
  log: Logger,
): void {
  const all = [
    ...families.map(
      ([name, help, value]) =>
        [
          name,
          help,
          ['drive'],
          (gauge: Gauge, drives: readonly DriveStatus[]) => {
            for (const drive of drives) gauge.set({ drive: drive.path }, value(drive))
          },
        ] as const,
    ),
    ...clusterFamilies,
  ]
  const warn = (error: unknown) => {
    // A backend that cannot even say how it is must not take the other families down with it.
    log.warn({ err: error }, 'drives cannot be read for metrics')
  }
  for (const [name, help, value] of totals) {
    metrics.counter({
      name,
      help,
      labels: ['drive'],
      async collect(counter: Counter) {
        counter.reset()
        try {
          for (const drive of await storage.drives()) counter.inc({ drive: drive.path }, value(drive))
        } catch (error) {
          warn(error)
        }
      },
    })
  }
  for (const [name, help, labels, set] of all) {
    metrics.gauge({
      name,
      help,
      labels,
      async collect(gauge: Gauge) {
        gauge.reset()
        try {
          set(gauge, await storage.drives())
        } catch (error) {
          warn(error)
        }
      },
    })
  }
}
