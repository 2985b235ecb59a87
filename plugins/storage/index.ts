/** Wires the plugin `storage`: chooses the configured backend, checks it for `--dry-run`, creates, starts and stops it. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/health/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { type StorageBackend, type StorageBackendFactory, storageErrors } from './api.ts'
import { StorageConfig } from './config.ts'
import { registerDriveFamilies } from './drive-families.ts'
import { checkDrives, countDrives } from './drive-health.ts'
import { storagePoints } from './points.ts'
import { checkFolders } from './preflight.ts'
import { expandPools } from './ranges.ts'
import { createStorageFront } from './service.ts'

export default definePlugin({
  name: 'storage',
  description: 'Chooses the storage backend.',
  requires: ['kernel'],
  optional: ['metrics'],
  provides: ['storage'],
  points: storagePoints,
  config: StorageConfig,
  // A backend may have to replay its whole journal.
  startTimeoutMs: 3_600_000,
  setup({ config, log, ports, threads, services, point, contribute }) {
    const front = createStorageFront()
    const pools = expandPools(config.endpoints)
    const endpoints = pools.flat()
    const backendName = config.backend === '' ? backendFor(pools) : config.backend
    const backends = point('storage.backend')
    let backend: StorageBackend | undefined
    /** The factory, or what is wrong with its name. */
    const findFactory = () => {
      const known = backends.list().map(({ id }) => id)
      const problem = `SVC_STORAGE_BACKEND names "${backendName}", which no plugin provides (${known.join(', ')})`
      return backends.get(backendName) ?? problem
    }
    /** Settings of a backend that is not chosen are not silently ignored. */
    const validate = (factory: StorageBackendFactory) => [
      ...factory.validate(endpoints, pools),
      ...backends.list().flatMap(({ value }) => (value === factory ? [] : (value.ignored?.(endpoints) ?? []))),
    ]
    const { metrics = noMetrics } = services
    // The families describe the node: one thread speaks for all.
    if (threads.isMain) registerDriveFamilies(metrics, front.service, log)
    const { drives } = front.service
    contribute('health.check', 'storage', async () => checkDrives(await drives()), { optional: true })
    contribute('health.drives', 'storage', async () => countDrives(await drives()), { optional: true })
    return {
      services: { storage: front.service },
      async inspect() {
        const cannotPeek = async (): Promise<never> => {
          throw storageErrors.unavailable(`what is stored by "${backendName}"`)
        }
        // Until there is more to say: who looks behind a problem shall not add to it.
        front.setPeek({ peek: async () => undefined, peekScan: async () => undefined })
        const folders = await checkFolders(endpoints)
        const factory = findFactory()
        if (typeof factory === 'string') return { problems: [...folders, factory] }
        const invalid = validate(factory).map(problem => `SVC_ENDPOINTS: ${problem}`)
        if (folders.length + invalid.length > 0) return { problems: [...folders, ...invalid] }
        if (factory.inspect === undefined) {
          front.setPeek({ peek: cannotPeek, peekScan: cannotPeek })
          return { notLookedAt: [`what "${backendName}" needs in order to start`] }
        }
        const { peek, peekScan, ...findings } = await factory.inspect({ endpoints, pools })
        if (peek !== undefined) front.setPeek({ peek, peekScan: peekScan ?? cannotPeek })
        return findings
      },
      async start() {
        const factory = findFactory()
        if (typeof factory === 'string') throw new Error(factory)
        const problems = validate(factory)
        if (problems.length > 0) throw new Error(`SVC_ENDPOINTS: ${problems.join(' ')}`)
        const { procedures, derive } = front
        backend = factory.create({ endpoints, pools, procedures, derive, threads, ports, log })
        front.connect(backend)
        await backend.start()
        if (threads.isMain) services.kernel.announce('mode', endpoints.length > 1 ? 'snmd' : 'snsd')
      },
      async stop() {
        await backend?.stop()
        front.disconnect()
      },
    }
  },
})

/** Largest number of drives in a set. */
const setDrivesMax = 16

function backendFor(pools: readonly (readonly string[])[]): string {
  const [first = []] = pools
  if (pools.length > 1 || first.length > setDrivesMax) return 'pools'
  return first.length > 1 ? 'erasure' : 'drive'
}
