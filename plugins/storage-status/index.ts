/** How the drives are, for metrics and health. Apart from all three, so that none of them depends on another. */
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/health/api'
import { registerDriveFamilies } from './drive-families.ts'
import { checkDrives, countDrives } from './drive-health.ts'

export default definePlugin({
  name: 'storage-status',
  requires: ['storage'],
  optional: ['metrics'],
  setup({ services, threads, log, contribute }) {
    const { metrics = noMetrics, storage } = services
    // The families describe the node: one thread speaks for all.
    if (threads.isMain) registerDriveFamilies(metrics, storage, log)
    contribute('health.check', 'storage', async () => checkDrives(await storage.drives()), { optional: true })
    contribute('health.drives', 'storage', async () => countDrives(await storage.drives()), { optional: true })
  },
})
