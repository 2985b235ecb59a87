/**
 * Records the hour of the last use of each access key: one write per key and hour, and only the first request of an hour does more than
 * compare two numbers.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { Documents } from './documents.ts'

const hourMs = 3600_000
/** Uses are written together, this long after the first one. */
const writeAfterMs = 5000
/** Access keys whose hour a thread has in memory; that of an evicted one is written again. */
const knownMax = 10_000
/** Uses that wait to be written. Others are recorded at their next request in another hour. */
const waitingMax = 10_000

export interface LastUses {
  /** To be called for each authenticated request. Only requests of access keys and shares count. */
  note(identity: Identity | undefined, timeMs: number): void
  /** Start of the hour of the last use; uses in other threads appear a few seconds later. */
  get(accessKey: string, createdMs: number): MaybePromise<number | undefined>
  flush(): Promise<void>
}

export function createLastUses({ lastUses }: Documents, clock: Clock, log: Logger): LastUses {
  const known = new LRUCache<string, number>({ max: knownMax })
  let waiting = new Map<string, number>()
  let cancel: (() => void) | undefined

  async function flush(): Promise<void> {
    cancel?.()
    cancel = undefined
    const uses = waiting
    waiting = new Map()
    try {
      for (const [accessKey, usedMs] of uses) {
        await lastUses.update(accessKey, stored => ((stored?.value.usedMs ?? 0) >= usedMs ? undefined : { usedMs }))
      }
    } catch (error) {
      // The time is only informative: a full drive must not make requests fail.
      log.warn({ err: error }, 'the last use of access keys could not be written')
    }
  }

  return {
    note(identity, timeMs) {
      // Other kinds are not recorded: each temporary access key would leave a document for ever.
      if (identity?.kind !== 'access-key' && identity?.kind !== 'share') return
      const { accessKey } = identity
      const usedMs = Math.floor(timeMs / hourMs) * hourMs
      if (known.get(accessKey) === usedMs || waiting.size >= waitingMax) return
      known.set(accessKey, usedMs)
      waiting.set(accessKey, usedMs)
      cancel ??= clock.after(writeAfterMs, () => {
        flush().catch(() => {})
      })
    },

    get(accessKey, createdMs) {
      return chain(lastUses.get(accessKey), stored => {
        const usedMs = Math.max(stored?.value.usedMs ?? 0, waiting.get(accessKey) ?? 0)
        // Belongs to an earlier access key of that name.
        return usedMs === 0 || usedMs + hourMs <= createdMs ? undefined : usedMs
      })
    },

    flush,
  }
}
