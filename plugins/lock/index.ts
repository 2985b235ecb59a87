/** Locks that are leases, for long work that must not run twice at the same time. */
import { hostname } from 'node:os'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/admin/api'
import { noMetrics } from 'svc/plugins/metrics/api'
import listLocks from './admin/list-locks.ts'
import releaseLocks from './admin/release-locks.ts'
import type {} from './api.ts'
import { LockConfig } from './config.ts'
import { declareLockDocuments } from './documents.ts'
import { createLocks } from './locks.ts'
import { createStaleLocks } from './stale-locks.ts'

export default definePlugin({
  name: 'lock',
  description: 'Locks for work that takes long and must not be done twice at a time.',
  requires: ['store'],
  optional: ['metrics'],
  provides: ['locks'],
  contributes: { 'admin.operation': [listLocks, releaseLocks] },
  config: LockConfig,
  setup({ config, services, ports, threads, log, background }) {
    const { store, metrics = noMetrics } = services
    const { refreshMs, staleAfterMs } = config
    if (refreshMs * 2 > staleAfterMs) {
      throw new RangeError(
        'SVC_LOCK_REFRESH_INTERVAL is at most half of SVC_LOCK_STALE_AFTER: otherwise one late renewal loses a lock.',
      )
    }
    const timeouts = metrics.counter({
      name: 'svc_lock_acquire_timeouts_total',
      help: 'Failed attempts to acquire a lock, after the wait of the caller; most callers do not wait.',
      labels: ['type'],
    })
    const documents = declareLockDocuments(store)
    const owner = hostname()
    const onTimeout = () => timeouts.inc({ type: 'write' })
    const locks = createLocks({ store, documents, ports, log, owner, refreshMs, staleAfterMs, onTimeout })
    if (!threads.isMain) return { services: { locks } }
    const stale = createStaleLocks({ store, documents, clock: ports.clock, log, refreshMs, staleAfterMs })
    background(stale.worker)
    return { services: { locks }, start: stale.releaseAll }
  },
})
