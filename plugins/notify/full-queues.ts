/** What found the queue of its target full: counted, and said to people for each target at most once a minute. */
import type { Clock, Logger } from 'svc/kernel'

const everyNs = 60_000_000_000n

export interface FullQueues {
  note(target: string, count: number): void
  /** Events since the start that were not queued, in this thread. */
  count(target: string): number
}

export function createFullQueues(clock: Clock, log: Logger): FullQueues {
  const noted = new Map<string, { count: number; saidNs: bigint }>()
  return {
    note(target, count) {
      const nowNs = clock.monotonicNs()
      const before = noted.get(target)
      const isSaid = before !== undefined && nowNs - before.saidNs < everyNs
      noted.set(target, { count: (before?.count ?? 0) + count, saidNs: isSaid ? before.saidNs : nowNs })
      if (!isSaid) log.warn({ target }, 'the queue of a target is full: events are not queued for it')
    },
    count: target => noted.get(target)?.count ?? 0,
  }
}
