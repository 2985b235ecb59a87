import { definePlugin } from 'svc/kernel'
import type { StorageBackend } from './api.ts'
import { StorageConfig } from './config.ts'
import { checkFolders } from './preflight.ts'
import { createStorageFront } from './service.ts'

export default definePlugin({
  name: 'storage',
  requires: ['kernel'],
  provides: ['storage'],
  points: ['storage.backend'],
  config: StorageConfig,
  // A backend may have to read its whole journal.
  startTimeoutMs: 3_600_000,
  preflight: config => checkFolders(config.endpoints),
  setup({ config, log, ports, threads, services, point }) {
    const front = createStorageFront()
    const backends = point('storage.backend')
    let backend: StorageBackend | undefined
    return {
      services: { storage: front.service },
      async start() {
        const factory = backends.get(config.backend)
        if (factory === undefined) {
          const known = backends.list().map(({ id }) => id)
          throw new Error(
            `SVC_STORAGE_BACKEND names "${config.backend}", which no plugin provides (${known.join(', ')})`,
          )
        }
        const problems = factory.validate(config.endpoints)
        if (problems.length > 0) throw new Error(`SVC_ENDPOINTS: ${problems.join(' ')}`)
        const { procedures, derive } = front
        backend = factory.create({ endpoints: config.endpoints, procedures, derive, threads, ports, log })
        front.connect(backend)
        await backend.start()
        if (threads.isMain) services.kernel.announce('mode', 'snsd')
      },
      async stop() {
        await backend?.stop()
        front.disconnect()
      },
    }
  },
})
