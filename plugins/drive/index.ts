/** Wires the plugin `drive`: contributes the backend of that name, provides the service `drives`, runs the background work. */
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import { createBackend, validateEndpoints } from './backend.ts'
import { createBackgroundWork } from './background.ts'
import { DriveConfig } from './config.ts'
import type { Disk } from './disk.ts'
import { createDrives } from './drives.ts'
import { registerFamilies } from './families.ts'
import { checkDrive, peekDrive, peekScanDrive, planDrive } from './preflight.ts'
import { createSystemDisk } from './system-disk.ts'

/** The plugin, on a disk that a test may choose. */
export const driveOn = (disk: Disk) =>
  definePlugin({
    name: 'drive',
    description: 'Storage on one folder: journal, index and files.',
    optional: ['metrics'],
    provides: ['drives'],
    config: DriveConfig,
    // A start may replay the whole journal.
    startTimeoutMs: 3_600_000,
    setup({ config, services, contribute, background }) {
      const { service, open } = createDrives(config, disk, registerFamilies(services.metrics ?? noMetrics))
      contribute('storage.backend', 'drive', {
        validate: validateEndpoints,
        async inspect({ endpoints: [path] }) {
          const problems = await checkDrive(disk, path!)
          if (problems.length > 0) return { problems }
          return {
            plan: await planDrive(disk, path!),
            peek: key => peekDrive(disk, path!, key),
            peekScan: (start, end, visit) => peekScanDrive(disk, path!, start, end, visit),
          }
        },
        create: options => createBackend(options, service),
      })
      for (const worker of createBackgroundWork(open)) background(worker)
      return { services: { drives: service } }
    },
  })

export default driveOn(createSystemDisk())
