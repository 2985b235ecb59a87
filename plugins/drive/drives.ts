/** The service `drives`, and the drives open in this thread, which `background.ts` works on. */
import { isAbsolute } from 'node:path'
import type { Drive, DriveOptions, DrivesService } from './api.ts'
import { createAttachedDrive } from './attached-drive.ts'
import { BlobIds } from './blob-files.ts'
import { type DriveConfig, shareOfConfig } from './config.ts'
import type { Disk } from './disk.ts'
import { lossOf } from './index-folder.ts'
import { openLmdbIndex } from './lmdb-index.ts'
import { DiskMeter, meteredDisk } from './metered-disk.ts'
import { createOwnedDrive, type OpenDrive } from './owned-drive.ts'
import { checkDrive, lookAtDrive, peekDrive, peekScanDrive } from './preflight.ts'
import { createThreadScopes } from './thread-scope.ts'

export interface Drives {
  readonly service: DrivesService
  /** In opening order; empty in a worker. */
  readonly open: ReadonlySet<OpenDrive>
}

export function createDrives(
  config: DriveConfig,
  disk: Disk,
  meterOf: (path: string) => DiskMeter = () => new DiskMeter(),
): Drives {
  const open = new Set<OpenDrive>()
  const scopeOf = createThreadScopes()
  const create = (options: DriveOptions): Drive => {
    if (!isAbsolute(options.path)) throw new TypeError(`the path of drive ${options.name} is not absolute`)
    for (const { name } of open) if (name === options.name) throw new Error(`drive ${name} is open`)
    const threads = scopeOf(options.threads, `drive.${options.name}.`)
    const share = shareOfConfig(config, options.shareOf ?? 1)
    const ports = { ...options.ports, disk: meteredDisk(options.disk ?? disk, meterOf(options.path)) }
    if (threads.isMain) return createOwnedDrive({ ...options, threads, ports }, share, open)
    // Read-only, because only one thread writes; opening for writing would also commit five transactions per thread.
    const openIndex = (path: string) => openLmdbIndex(path, { readOnly: true, isShared: true, lossOf })
    const { log, isAlone } = options
    return createAttachedDrive({ threads, config: share, ports, log, isAlone, openIndex })
  }
  return {
    open,
    service: {
      create,
      disk,
      look: path => lookAtDrive(disk, path),
      check: path => checkDrive(disk, path),
      peek: (path, key) => peekDrive(disk, path, key),
      peekScan: (path, start, end, visit) => peekScanDrive(disk, path, start, end, visit),
      blobIds(ports) {
        const ids = new BlobIds(ports)
        return () => ids.next()
      },
    },
  }
}
