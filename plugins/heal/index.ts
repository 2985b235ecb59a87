/**
 * Plugin `heal`: heal jobs, the scrub of all shards in the background, and metrics of redundancy. On a single drive there is no other copy
 * to heal from. The healing itself is in `erasure`.
 */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import cancelHealJob from './admin/cancel-heal-job.ts'
import getHealJob from './admin/get-heal-job.ts'
import getRedundancy from './admin/get-redundancy.ts'
import listHealJobs from './admin/list-heal-jobs.ts'
import startHeal from './admin/start-heal.ts'
import { createDeepScan, declareDeepScans } from './deep-scan.ts'
import { createJobs, declareJobs } from './jobs.ts'
import { registerFamilies } from './metrics.ts'
import { registerRebuildFamilies } from './rebuild-families.ts'
import { readRedundancy } from './redundancy-reading.ts'
import { createHealService } from './thread-calls.ts'

export default definePlugin({
  name: 'heal',
  description: 'Redundancy of stored data, and heal jobs.',
  requires: ['locks', 'objects', 'storage', 'redundancy', 'store', 'scanner'],
  optional: ['metrics'],
  provides: ['heal'],
  contributes: { 'admin.operation': [startHeal, listHealJobs, getHealJob, cancelHealJob, getRedundancy] },
  setup({ services, threads, ports, log, background }) {
    const { locks, objects, storage, redundancy, store, scanner, metrics = noMetrics } = services
    const documents = declareJobs(store)
    const scans = declareDeepScans(store)
    const jobs = threads.isMain ? createJobs({ redundancy, documents, objects, storage, locks, ports, log }) : undefined
    const heal = createHealService(
      threads,
      jobs && { jobs, redundancy: () => readRedundancy({ redundancy, scans, jobs, storage, objects }) },
    )
    if (jobs === undefined) return { services: { heal } }
    registerRebuildFamilies(metrics, storage, log)
    const { onPass } = registerFamilies({ metrics, redundancy, objects, jobs, log })
    const cycleMs = async () => (await scanner.settings.get()).deep_cycle
    const deepScan = createDeepScan({ redundancy, scans, clock: ports.clock, log, cycleMs, onPass })
    // A scrub reads everything that is stored, so it always rests between slices.
    background(scanner.atSpeed(deepScan, 'default'))
    return { services: { heal }, start: jobs.open, drain: jobs.close }
  },
})
