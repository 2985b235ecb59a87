/** What the store cannot read, for metrics and health. Apart from all three, so that none of them depends on another. */
import { definePlugin } from 'svc/kernel'
import { noMetrics } from 'svc/plugins/metrics/api'
import 'svc/plugins/health/api'
import { checkQuarantine } from './quarantine-health.ts'

export default definePlugin({
  name: 'store-status',
  requires: ['store'],
  optional: ['metrics'],
  setup({ services, threads, contribute }) {
    const { metrics = noMetrics, store } = services
    // The family describes the node: one thread speaks for all.
    if (threads.isMain) {
      metrics.gauge({
        name: 'svc_store_quarantined_documents',
        help: 'Documents that cannot be read: kept as they are, and treated as if they were not there.',
        labels: ['collection'],
        async collect(gauge) {
          gauge.reset()
          const { counts } = await store.quarantined()
          for (const [collection, count] of Object.entries(counts)) gauge.set({ collection }, count)
        },
      })
    }
    contribute('health.check', 'store', async () => checkQuarantine((await store.quarantined()).counts), {
      optional: true,
    })
  },
})
