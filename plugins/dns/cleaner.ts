/** Removes values without an owner in this process: those of an earlier run, and those whose removal has failed. */
import type { BackgroundWorker, Clock, Logger } from 'svc/kernel'
import type { StoredDocument } from 'svc/plugins/store/api'
import type { PublicationDocument } from './documents.ts'
import type { Propagation } from './propagation.ts'
import type { Publications } from './publications.ts'

const pauseMs = 10_000
/** The pauses between attempts for one value double from the first to the longest. */
const retryMsMin = 10_000
const retryMsMax = 3_600_000
/** Values at once. */
const concurrency = 8
/** An owner that has not cleaned up by then has forgotten it. */
const ownedMsMax = 86_400_000
/** The time after which a change must be visible; from then on, a value that no server has is gone. */
const absentAfterMs = 300_000

interface Failures {
  readonly count: number
  readonly nextNs: bigint
}

export interface CleanerOptions {
  readonly publications: Publications
  readonly propagation: Propagation
  readonly clock: Clock
  readonly log: Logger
}

export function createCleaner({ publications, propagation, clock, log }: CleanerOptions): BackgroundWorker {
  /** Failed removals, by value that still exists. */
  let failures = new Map<string, Failures>()
  let left = 0

  function isDue({ id, value }: StoredDocument<PublicationDocument>): boolean {
    const ownedMs = publications.ownedSinceMs(id)
    if (ownedMs !== undefined) return clock.now() - ownedMs > ownedMsMax
    if (value.keepUntilMs > clock.now()) return false
    const failed = failures.get(id)
    return failed === undefined || clock.monotonicNs() >= failed.nextNs
  }

  /** An operator may have removed it by hand at a provider that no longer accepts requests. */
  async function isGone({ value }: StoredDocument<PublicationDocument>, signal: AbortSignal): Promise<boolean> {
    if (clock.now() - value.publishedMs < absentAfterMs) return false
    return propagation.isAbsent(value, signal).catch(() => false)
  }

  async function remove(document: StoredDocument<PublicationDocument>, signal: AbortSignal): Promise<void> {
    const { id, value } = document
    const { provider, record, owner } = value
    try {
      await publications.cleanUp(id, { signal, isRepeated: false })
      log.info({ provider, record, owner }, 'a value that was left at a DNS provider was removed')
    } catch (error) {
      if (signal.aborted) return
      if (await isGone(document, signal)) {
        await publications.forget(id)
        log.info({ provider, record, owner }, 'a value that was left at a DNS provider is gone')
        return
      }
      const count = (failures.get(id)?.count ?? 0) + 1
      const retryInMs = Math.min(retryMsMin * 2 ** (count - 1), retryMsMax)
      failures.set(id, { count, nextNs: clock.monotonicNs() + BigInt(retryInMs) * 1_000_000n })
      const told = { provider, record, owner, reason: (error as Error).message, retryInMs }
      log.warn(told, 'a value cannot be removed from a DNS provider; it is tried again')
    }
  }

  return {
    name: 'dns-cleaner',
    pauseMs,
    async work(signal) {
      const all = await publications.list()
      const ids = new Set(all.map(({ id }) => id))
      failures = new Map([...failures].filter(([id]) => ids.has(id)))
      const due = all.filter(isDue)
      for (let i = 0; i < due.length && !signal.aborted; i += concurrency) {
        await Promise.all(due.slice(i, i + concurrency).map(document => remove(document, signal)))
      }
      left = failures.size
      return 'idle'
    },
    status: () => (left === 0 ? 'no values are left at DNS providers' : `${left} values cannot be removed yet`),
  }
}
