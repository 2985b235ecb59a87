import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import exportConfig from './admin/export-config.ts'
import getConfig from './admin/get-config.ts'
import getConfigSchema from './admin/get-config-schema.ts'
import getConfigSubsystem from './admin/get-config-subsystem.ts'
import importConfig from './admin/import-config.ts'
import replaceConfig from './admin/replace-config.ts'
import resetConfigSubsystem from './admin/reset-config-subsystem.ts'
import updateConfigSubsystem from './admin/update-config-subsystem.ts'
import { createSettings } from './settings.ts'

const adminOperations = [
  exportConfig,
  getConfig,
  getConfigSchema,
  getConfigSubsystem,
  importConfig,
  replaceConfig,
  resetConfigSubsystem,
  updateConfigSubsystem,
]

export default definePlugin({
  name: 'settings',
  description: 'Settings that change while the server runs.',
  requires: ['store'],
  provides: ['settings'],
  contributes: { 'admin.operation': adminOperations },
  setup({ services, threads, log }) {
    const { service, start, stop } = createSettings({ store: services.store, log })
    return {
      services: { settings: service },
      start,
      // Plugins may declare settings until they have started.
      async serve() {
        if (!threads.isMain) return
        for (const { name, warning } of await service.administration.show()) {
          if (warning !== undefined) log.warn({ subsystem: name }, `settings without effect. ${warning}`)
        }
      },
      stop,
    }
  },
})
