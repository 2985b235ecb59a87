import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/storage/api'
import { createBackend, validateEndpoints } from './backend.ts'
import { DriveConfig } from './config.ts'

export default definePlugin({
  name: 'drive',
  config: DriveConfig,
  // A start may have to read the whole journal.
  startTimeoutMs: 3_600_000,
  setup({ config, contribute }) {
    contribute('storage.backend', 'drive', {
      validate: validateEndpoints,
      create: options => createBackend(options, config),
    })
    return {}
  },
})
