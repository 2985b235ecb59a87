import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/health/api'
import './api.ts'
import { recordTable } from 'svc/plugins/storage/api'
import { deriveCounts } from './commit.ts'
import { registerFamilies } from './metrics.ts'
import { createQueue } from './queue.ts'

export default definePlugin({
  name: 'queue',
  requires: ['storage'],
  optional: ['metrics'],
  provides: ['queue'],
  setup({ services, threads, ports, log, contribute }) {
    const { storage, metrics = noMetrics } = services
    const families = registerFamilies(metrics, threads.isMain)
    const queue = createQueue({ storage, threads, ports, log, families })
    storage.define(queue.procedures)
    storage.derive(recordTable.queue, deriveCounts)
    contribute('health.check', 'queue', async () => ({ ok: true, detail: await queue.problem() }), { optional: true })
    return { services: { queue: queue.service }, start: queue.start, drain: queue.stop, stop: queue.stop }
  },
})
