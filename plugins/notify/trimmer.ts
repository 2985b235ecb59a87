import type { BackgroundWorker, Clock } from 'svc/kernel'
import type { Outbox } from './outbox.ts'

const pauseMs = 30_000

export interface TrimmerOptions {
  readonly outbox: Pick<Outbox, 'trim'>
  readonly clock: Clock
  readonly outboxRetentionMs: number
  readonly outboxEventsMax: number
}

/** Deletes expired events of the outbox. */
export function createTrimmer({ outbox, clock, outboxRetentionMs, outboxEventsMax }: TrimmerOptions): BackgroundWorker {
  return {
    name: 'outbox-trimmer',
    pauseMs,
    async work() {
      const trimmed = await outbox.trim(clock.now() - outboxRetentionMs, outboxEventsMax)
      return trimmed > 0 ? 'more' : 'idle'
    },
  }
}
