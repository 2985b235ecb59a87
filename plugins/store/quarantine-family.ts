/** The metric of documents that cannot be read. */
import type { MetricsService } from 'svc/plugins/metrics/api'
import type { StoreService } from './api.ts'

export function registerQuarantineFamily(
  metrics: Pick<MetricsService, 'gauge'>,
  store: Pick<StoreService, 'quarantined'>,
): void {
  metrics.gauge({
    name: 'svc_store_quarantined_documents',
    help: 'Documents that cannot be read. They are kept as they are, and treated as missing.',
    labels: ['collection'],
    async collect(gauge) {
      gauge.reset()
      const { counts } = await store.quarantined()
      for (const [collection, count] of Object.entries(counts)) gauge.set({ collection }, count)
    },
  })
}
