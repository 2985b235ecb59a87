import { definePlugin } from 'svc/kernel'
import 'svc/plugins/health/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import { recordTable } from 'svc/plugins/storage/api'
import { StoreConfig } from './config.ts'
import { registerQuarantineFamily } from './quarantine-family.ts'
import { checkQuarantine } from './quarantine-health.ts'
import { createStore } from './store.ts'

export default definePlugin({
  name: 'store',
  description: 'Small documents, consistent over all threads: users, policies, settings.',
  requires: ['storage'],
  optional: ['metrics'],
  provides: ['store'],
  config: StoreConfig,
  setup({ config, services, threads, ports, log, background, contribute }) {
    const { storage } = services
    const { cacheBytes, resyncIntervalMs, ...credentials } = config
    const store = createStore({ storage, threads, random: ports.random, log, cacheBytes, credentials })
    storage.define(store.procedures)
    storage.derive(recordTable.document, store.derive)
    background({ name: 'resync', runsIn: 'every-thread', pauseMs: resyncIntervalMs, work: store.resync })
    background({ name: 'unreadable-documents', pauseMs: 0, work: store.scan })
    const { metrics = noMetrics } = services
    // The metric describes the node, so only one thread reports it.
    if (threads.isMain) registerQuarantineFamily(metrics, store.service)
    const counts = async () => (await store.service.quarantined()).counts
    contribute('health.check', 'store', async () => checkQuarantine(await counts()), { optional: true })
    return {
      services: { store: store.service },
      inspect: store.inspect,
      inspectRestart: store.inspectRestart,
      start: store.start,
      serve: store.serve,
      stop: store.stop,
    }
  },
})
