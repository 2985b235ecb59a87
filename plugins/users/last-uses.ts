/**
 * When an access key was used last, to the hour: so each costs one write an hour, and the first request of an hour is the only one that
 * does more than compare two numbers.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, chain, type Logger, type MaybePromise } from 'svc/kernel'
import type { Identity } from 'svc/plugins/iam/api'
import type { Documents } from './documents.ts'

const hourMs = 3600_000
/** Uses are written together, this long after the first one. */
const writeAfterMs = 5000
/** Access keys whose hour a thread remembers; one that is forgotten is written again. */
const knownMax = 10_000
/** Uses that wait to be written. Further ones are counted with their next request in another hour. */
const waitingMax = 10_000

export interface LastUses {
  /** For each request whose credentials were right. Only those of access keys and shares count. */
  note(identity: Identity | undefined, timeMs: number): void
  /** The hour of the last use; of other threads a few seconds later. */
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
      // It is for information: a drive that is full must not fail requests because of it.
      log.warn({ err: error }, 'the last use of access keys could not be written')
    }
  }

  return {
    note(identity, timeMs) {
      // Of others nobody asks: temporary credentials would leave a document each, for ever.
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
        // That of another one, which had the name before.
        return usedMs === 0 || usedMs + hourMs <= createdMs ? undefined : usedMs
      })
    },

    flush,
  }
}
