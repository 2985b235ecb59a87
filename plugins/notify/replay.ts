/**
 * Replays: queue events of the outbox again for a target, in pages. The present rules of the bucket select them, so a new rule gets events
 * that another rule had asked for.
 */
import type { Clock, MaybePromise } from 'svc/kernel'
import type { NewEntry, QueueTopic } from 'svc/plugins/queue/api'
import type { ReplayRequest } from './api.ts'
import type { NotificationMatcher } from './bucket-notifications.ts'
import { notifyErrors } from './errors.ts'
import { encodeEvent } from './kept-event.ts'
import type { KeptEvent } from './message.ts'
import { queuesOf } from './observer.ts'
import type { Outbox } from './outbox.ts'

export interface ReplayOptions {
  readonly outbox: Outbox
  readonly topic: Pick<QueueTopic, 'push'>
  readonly clock: Clock
  matcher(bucket: string): MaybePromise<NotificationMatcher | undefined>
  limitOf(queue: string): number
}

/** Events in memory. */
const pageEvents = 500
/** Pause while the queue is full, and how long it may stay full before the replay ends. */
const fullPauseMs = 500
const fullMsMax = 60_000

/** Resolves with how many events were queued. Rejects with notify_queue_full, and when `signal` is aborted. */
export async function replay(request: ReplayRequest, options: ReplayOptions, signal: AbortSignal): Promise<number> {
  const { outbox, matcher } = options
  let queued = 0
  let after: Buffer | undefined
  do {
    const page = await outbox.read(request, after, pageEvents)
    // Read for each page, because they may change.
    const rules = await matcher(request.bucket)
    const entries = rules === undefined ? [] : page.events.flatMap(event => entryOf(event, request, rules))
    queued += await push(entries, request.target, queued, options, signal)
    after = page.next
  } while (after !== undefined)
  return queued
}

function entryOf(
  event: KeptEvent,
  { target, bucket, prefix }: ReplayRequest,
  rules: NotificationMatcher,
): readonly NewEntry[] {
  if (event.bucket !== bucket || !event.key.startsWith(prefix)) return []
  const rule = queuesOf(rules.match(event.name, event.key)).get(target)
  return rule === undefined ? [] : [{ key: `${bucket}/${event.key}`, payload: encodeEvent(event, rule.id) }]
}

async function push(
  entries: readonly NewEntry[],
  queue: string,
  queuedBefore: number,
  { topic, clock, limitOf }: ReplayOptions,
  signal: AbortSignal,
): Promise<number> {
  let done = 0
  let idleMs = 0
  while (done < entries.length) {
    signal.throwIfAborted()
    const taken = await topic.push(queue, entries.slice(done), limitOf(queue))
    done += taken
    idleMs = taken > 0 ? 0 : idleMs + fullPauseMs
    if (idleMs > fullMsMax) {
      throw notifyErrors.notify_queue_full(
        `The queue of the target is full and does not shrink. ${queuedBefore + done} events were queued.`,
      )
    }
    if (done < entries.length) await pause(clock, signal)
  }
  return done
}

function pause(clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const finish = () => {
      cancel()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const cancel = clock.after(fullPauseMs, finish)
    signal.addEventListener('abort', finish)
  })
}
