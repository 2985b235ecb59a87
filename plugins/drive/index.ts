import { definePlugin } from 'svc/kernel'
import type {} from 'svc/plugins/storage/api'
import { createBackend, validateEndpoints } from './backend.ts'
import { DriveConfig } from './config.ts'
import type { Drive } from './drive.ts'

export default definePlugin({
  name: 'drive',
  config: DriveConfig,
  // A start may have to read the whole journal.
  startTimeoutMs: 3_600_000,
  setup({ config, contribute, background, threads }) {
    let drive: Drive | undefined
    contribute('storage.backend', 'drive', {
      validate: validateEndpoints,
      create: options =>
        createBackend(options, config, opened => {
          drive = opened
        }),
    })
    if (!threads.isMain) return
    background({
      name: 'compaction',
      pauseMs: 1000,
      work: async signal => (drive === undefined ? 'idle' : drive.compaction.work(signal)),
      status: () => (drive?.compaction.current === undefined ? 'idle' : `segment ${drive.compaction.current}`),
    })
    background({
      name: 'unreferenced-blobs',
      pauseMs: 1000,
      async work(signal) {
        if (drive === undefined) return 'idle'
        await drive.collectGarbage(signal)
        return 'done'
      },
    })
    background({
      name: 'journal-space',
      pauseMs: 1000,
      async work() {
        drive?.prepareJournal()
        return 'idle'
      },
    })
  },
})
