/** Metrics of drives. Apart from `metrics` and `storage`, so that neither depends on the other. */
import { definePlugin } from 'svc/kernel'
import { registerDriveFamilies } from './drive-families.ts'

export default definePlugin({
  name: 'storage-metrics',
  requires: ['metrics', 'storage'],
  setup({ services, threads, log }) {
    if (threads.isMain) registerDriveFamilies(services.metrics, services.storage, log)
  },
})
