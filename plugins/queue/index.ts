import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/health/api'
import './api.ts'
import { recordTable } from 'svc/plugins/storage/api'
import { deriveCounts } from './commit.ts'
import { registerMetrics } from './metrics.ts'
import { createQueues } from './queues.ts'

export default definePlugin({
  name: 'queue',
  description: 'Persistent queues for messages to destinations that may be down.',
  requires: ['storage'],
  optional: ['metrics'],
  provides: ['queue'],
  setup({ services, threads, ports, log, contribute }) {
    const { storage, metrics = noMetrics } = services
    const queues = createQueues({
      storage,
      threads,
      ports,
      log,
      metrics: registerMetrics(metrics, threads.isMain),
    })
    storage.define(queues.procedures)
    storage.derive(recordTable.queue, deriveCounts)
    contribute('health.check', 'queue', async () => ({ ok: true, detail: await queues.problem() }), { optional: true })
    return { services: { queue: queues.service }, start: queues.start, drain: queues.stop, stop: queues.stop }
  },
})
