/** Plugin `scanner`: provides the service of that name. Does no scanning itself. */
import { definePlugin } from 'svc/kernel'
import { ScannerConfig } from './config.ts'
import { atSpeed, declareScannerSettings } from './settings.ts'

export default definePlugin({
  name: 'scanner',
  description: 'The pace of background work over all stored data.',
  requires: ['settings'],
  provides: ['scanner'],
  config: ScannerConfig,
  setup({ config, services, ports }) {
    const settings = declareScannerSettings(services.settings, config.lifecycleIntervalMs)
    return {
      services: {
        scanner: {
          settings,
          atSpeed: (worker, slowerThan) => atSpeed(worker, settings, ports.clock, slowerThan),
        },
      },
    }
  },
})
