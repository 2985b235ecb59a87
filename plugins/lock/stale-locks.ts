/**
 * Releases locks without a live holder: all of them at a start, which has exclusive access to the drives, and later those that were not renewed for
 * `staleAfterMs`. The time is measured on the observer's clock, from when it saw the last renewal: clocks of nodes may differ.
 */
import { type BackgroundWorker, type Clock, isCatalogError, type Logger } from 'svc/kernel'
import type { StoreService } from 'svc/plugins/store/api'
import type { LockDocuments } from './documents.ts'

export interface StaleLocksOptions {
  readonly store: StoreService
  readonly documents: LockDocuments
  readonly clock: Clock
  readonly log: Logger
  readonly refreshMs: number
  readonly staleAfterMs: number
}

export interface StaleLocks {
  readonly worker: BackgroundWorker
  /** Before anybody in this process can hold one. */
  releaseAll(): Promise<void>
}

export function createStaleLocks(options: StaleLocksOptions): StaleLocks {
  const { store, documents, clock, log, refreshMs, staleAfterMs } = options
  const { locks, renewals } = documents
  /** By resource: which renewal was seen, and when first. */
  let seen = new Map<string, { readonly token: string; readonly sinceNs: bigint }>()

  async function each(visit: (resource: string, etag: string) => Promise<void>): Promise<void> {
    for (let startAfter: string | undefined = ''; startAfter !== undefined; ) {
      const page: Awaited<ReturnType<typeof locks.list>> = await locks.list({ startAfter })
      for (const { id, etag } of page.documents) await visit(id, etag)
      startAfter = page.next
    }
  }

  async function release(resource: string, etag: string, reason: string): Promise<void> {
    try {
      await store.transaction(tx => {
        tx.delete(locks, resource, { ifMatch: etag })
        tx.delete(renewals, resource)
      })
      log.warn({ resource }, reason)
    } catch (error) {
      // Given back in between.
      if (!isCatalogError(error) || error.code !== 'precondition_failed') throw error
    }
  }

  return {
    releaseAll: () => each((id, etag) => release(id, etag, 'a lock of a server that has ended was released')),
    worker: {
      name: 'stale-locks',
      pauseMs: refreshMs,
      async work() {
        const nowNs = clock.monotonicNs()
        const before = seen
        seen = new Map()
        await each(async (resource, etag) => {
          const token = `${etag} ${(await renewals.get(resource))?.sequence}`
          const known = before.get(resource)
          const state = known?.token === token ? known : { token, sinceNs: nowNs }
          if (nowNs - state.sinceNs >= BigInt(staleAfterMs) * 1_000_000n) {
            await release(resource, etag, 'a lock was released because its holder no longer renews it')
          } else seen.set(resource, state)
        })
        return 'idle'
      },
      status: () => `${seen.size} locks are held`,
    },
  }
}
