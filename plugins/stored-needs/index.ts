/** Refuses to start without a plugin that stored data needs. */
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/health/api'
import type { MissingPlugin } from './api.ts'
import { StoredNeedsConfig } from './config.ts'
import { storedNeedsPoints } from './points.ts'
import { createStoredNeeds } from './stored-needs.ts'

const ignoredCall = 'stored-needs.ignored'

export default definePlugin({
  name: 'stored-needs',
  description: 'Refuses to start without a plugin that stored data needs.',
  requires: ['kernel', 'objects', 'storage', 'store'],
  provides: ['storedNeeds'],
  points: storedNeedsPoints,
  config: StoredNeedsConfig,
  // The search may have to read the record of every object.
  startTimeoutMs: 3_600_000,
  setup({ config, services, threads, log, point, contribute, background }) {
    const { kernel, storage, store } = services
    const needs = createStoredNeeds({
      kernel,
      storage,
      store,
      contributions: point('stored.need'),
      ignore: config.ignoreMissingPlugins,
      log,
    })
    let ignored: readonly MissingPlugin[] = []
    if (threads.isMain) {
      threads.handle(ignoredCall, () => ignored)
      background({ name: 'write', pauseMs: 0, work: needs.writeLate })
    }
    const describe = () => ignored.map(({ name }) => `"${name}"`).join(', ')
    contribute(
      'health.check',
      'stored-needs',
      () => ({
        ok: true,
        detail: ignored.length === 0 ? undefined : `started without ${describe()}, which stored data needs`,
      }),
      { optional: true },
    )
    return {
      services: { storedNeeds: { ignored: () => ignored } },
      inspect: needs.inspect,
      async start() {
        ignored = threads.isMain ? await needs.start() : await threads.call<readonly MissingPlugin[]>(0, ignoredCall)
      },
    }
  },
})
