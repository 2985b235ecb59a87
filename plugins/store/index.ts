import { definePlugin } from 'svc/kernel'
import { recordTable } from 'svc/plugins/storage/api'
import { StoreConfig } from './config.ts'
import { createStore } from './store.ts'

export default definePlugin({
  name: 'store',
  requires: ['storage'],
  provides: ['store'],
  config: StoreConfig,
  setup({ config, services, threads, ports, log, background }) {
    const { storage } = services
    const { cacheBytes, resyncIntervalMs, ...credentials } = config
    const store = createStore({ storage, threads, random: ports.random, log, cacheBytes, credentials })
    storage.define(store.procedures)
    storage.derive(recordTable.document, store.derive)
    background({ name: 'resync', pauseMs: resyncIntervalMs, work: store.resync })
    if (threads.isMain) background({ name: 'unreadable-documents', pauseMs: 0, work: store.scan })
    return {
      services: { store: store.service },
      inspect: store.inspect,
      start: store.start,
      serve: store.serve,
      stop: store.stop,
    }
  },
})
