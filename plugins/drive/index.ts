/** Wires the plugin `drive`: contributes the backend of that name, provides the service `drives`, runs the background work. */
import { definePlugin } from 'svc/kernel'
import { createBackend, validateEndpoints } from './backend.ts'
import { createBackgroundWork } from './background.ts'
import { DriveConfig } from './config.ts'
import { createDrives } from './drives.ts'
import { checkDrive, peekDrive, planDrive } from './preflight.ts'

export default definePlugin({
  name: 'drive',
  provides: ['drives'],
  config: DriveConfig,
  // A start may replay the whole journal.
  startTimeoutMs: 3_600_000,
  setup({ config, contribute, background, threads }) {
    const { service, open } = createDrives(config)
    contribute('storage.backend', 'drive', {
      validate: validateEndpoints,
      check: ({ endpoints, ports }) => checkDrive(ports.disk, endpoints[0]!),
      plan: ({ endpoints, ports }) => planDrive(ports.disk, endpoints[0]!),
      peek: ({ endpoints, ports }, key) => peekDrive(ports.disk, endpoints[0]!, key),
      create: options => createBackend(options, service),
    })
    if (threads.isMain) for (const worker of createBackgroundWork(open)) background(worker)
    return { services: { drives: service } }
  },
})
