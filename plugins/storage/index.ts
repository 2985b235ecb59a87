/** Wires the plugin `storage`: chooses the configured backend, checks it for `--dry-run`, creates, starts and stops it. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/health/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { type StorageBackend, storageErrors } from './api.ts'
import { StorageConfig } from './config.ts'
import { registerDriveFamilies } from './drive-families.ts'
import { checkDrives, countDrives } from './drive-health.ts'
import { storagePoints } from './points.ts'
import { checkFolders } from './preflight.ts'
import { expandPools } from './ranges.ts'
import { createStorageFront } from './service.ts'

export default definePlugin({
  name: 'storage',
  requires: ['kernel'],
  optional: ['metrics'],
  provides: ['storage'],
  points: storagePoints,
  config: StorageConfig,
  // A backend may have to replay its whole journal.
  startTimeoutMs: 3_600_000,
  preflight: config => checkFolders(expandPools(config.endpoints).flat()),
  setup({ config, log, ports, threads, services, point, contribute }) {
    const front = createStorageFront()
    const pools = expandPools(config.endpoints)
    const endpoints = pools.flat()
    const backendName = config.backend === '' ? backendFor(pools) : config.backend
    const backends = point('storage.backend')
    let backend: StorageBackend | undefined
    const requireFactory = () => {
      const factory = backends.get(backendName)
      if (factory !== undefined) return factory
      const known = backends.list().map(({ id }) => id)
      throw new Error(`SVC_STORAGE_BACKEND names "${backendName}", which no plugin provides (${known.join(', ')})`)
    }
    const { metrics = noMetrics } = services
    // The families describe the node: one thread speaks for all.
    if (threads.isMain) registerDriveFamilies(metrics, front.service, log)
    const { drives } = front.service
    contribute('health.check', 'storage', async () => checkDrives(await drives()), { optional: true })
    contribute('health.drives', 'storage', async () => countDrives(await drives()), { optional: true })
    return {
      services: { storage: front.service },
      async check() {
        const factory = requireFactory()
        const options = { endpoints, pools, ports }
        const problems = factory.validate(endpoints, pools).map(problem => `SVC_ENDPOINTS: ${problem}`)
        // `preflight` has reported these already.
        const isUsable = problems.length === 0 && (await checkFolders(endpoints)).length === 0
        if (isUsable) problems.push(...((await factory.check?.(options)) ?? []))
        front.setPeek(async key => {
          if (!isUsable || problems.length > 0) return undefined
          if (factory.peek === undefined) throw storageErrors.unavailable(`what is stored by "${backendName}"`)
          return factory.peek(options, key)
        })
        if (factory.check === undefined)
          return { problems, notLookedAt: [`what "${backendName}" needs in order to start`] }
        if (!isUsable || problems.length > 0) return { problems }
        return {
          plan: await factory.plan?.(options),
          notLookedAt: await factory.notLookedAt?.(options),
        }
      },
      async start() {
        const factory = requireFactory()
        const problems = factory.validate(endpoints, pools)
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
