/**
 * Events of reads, made from the records of finished requests and queued a little later in commits of their own. They never delay a
 * request: events that come faster than they can be queued are dropped and counted. None is kept for a replay.
 */
import type { Clock, Logger, MaybePromise } from 'svc/kernel'
import { changeOrigin } from 'svc/plugins/objects/api'
import type { NewEntry, QueueTopic } from 'svc/plugins/queue/api'
import type { S3RequestRecord } from 'svc/plugins/s3/api'
import type { NotificationMatcher } from './bucket-notifications.ts'
import { encodeEvent } from './kept-event.ts'
import { sequencerOf } from './message.ts'
import { queuesOf } from './observer.ts'

const events: ReadonlyMap<string, string> = new Map([
  ['GetObject', 'ObjectAccessed:Get'],
  ['HeadObject', 'ObjectAccessed:Head'],
  ['GetObjectAttributes', 'ObjectAccessed:Attributes'],
])

const waitingMax = 10_000
const pushedMax = 500
const pauseMs = 100
/** As in `Transaction.sequence`. */
const sequencesPerMs = 2048

export interface AccessedOptions {
  matcher(bucket: string): MaybePromise<NotificationMatcher | undefined>
  readonly topic: Pick<QueueTopic, 'push'>
  limitOf(queue: string): MaybePromise<number>
  readonly clock: Clock
  readonly log: Logger
  onLost(target: string, count: number): void
}

export interface AccessEvents {
  observe(record: S3RequestRecord): void
  /** Queues the events in memory. Takes no more. */
  stop(): Promise<void>
}

export function createAccessEvents(options: AccessedOptions): AccessEvents {
  const { matcher, topic, limitOf, clock, log, onLost } = options
  const waiting: { readonly queue: string; readonly entry: NewEntry }[] = []
  let last = { sequence: 0, count: 0 }
  let cancel: (() => void) | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  /** Larger for later events, and close to the sequence of a commit at that time. */
  const nextSequencer = (nowMs: number): string => {
    const sequence = Math.max(nowMs * sequencesPerMs, last.sequence)
    const isFull = sequence === last.sequence && last.count === 0xffff
    if (isFull) last = { sequence: sequence + 1, count: 0 }
    else last = sequence === last.sequence ? { sequence, count: last.count + 1 } : { sequence, count: 0 }
    return sequencerOf(last.sequence, last.count)
  }

  const add = (record: S3RequestRecord, name: string, found: NotificationMatcher | undefined) => {
    const { bucket, key } = record
    const rules = found?.match(name, key)
    if (rules === undefined || rules.length === 0 || isStopped) return
    const queues = queuesOf(rules)
    if (waiting.length + queues.size > waitingMax) {
      for (const queue of queues.keys()) onLost(queue, 1)
      return
    }
    const nowMs = clock.now()
    const event = {
      name,
      timeMs: nowMs,
      bucket,
      key,
      sequencer: nextSequencer(nowMs),
      versionId: new URLSearchParams(record.query).get('versionId') ?? undefined,
      object: undefined,
      origin: changeOrigin(record),
    }
    for (const [queue, { id }] of queues) {
      waiting.push({ queue, entry: { key: `${bucket}/${key}`, payload: encodeEvent(event, id) } })
    }
    schedule()
  }

  const flush = async () => {
    const batches = new Map<string, NewEntry[]>()
    for (const { queue, entry } of waiting.splice(0)) {
      const batch = batches.get(queue)
      if (batch === undefined) batches.set(queue, [entry])
      else batch.push(entry)
    }
    for (const [queue, entries] of batches) {
      for (let at = 0; at < entries.length; at += pushedMax) {
        const some = entries.slice(at, at + pushedMax)
        try {
          const taken = await topic.push(queue, some, await limitOf(queue))
          if (taken < some.length) onLost(queue, some.length - taken)
        } catch (error) {
          onLost(queue, some.length)
          log.warn({ err: error, target: queue }, 'events of reads could not be queued')
        }
      }
    }
  }

  const schedule = () => {
    if (cancel !== undefined || running !== undefined || isStopped) return
    cancel = clock.after(pauseMs, () => {
      cancel = undefined
      running = flush().finally(() => {
        running = undefined
        if (waiting.length > 0) schedule()
      })
    })
  }

  return {
    observe(record) {
      const name = events.get(record.operation)
      if (name === undefined || record.status < 200 || record.status > 299) return
      const found = matcher(record.bucket)
      if (!(found instanceof Promise)) {
        if (found !== undefined) add(record, name, found)
        return
      }
      found
        .then(ready => add(record, name, ready))
        .catch(error =>
          log.warn({ err: error, bucket: record.bucket }, 'the notification rules of a bucket could not be read'),
        )
    },
    async stop() {
      cancel?.()
      cancel = undefined
      await running
      await flush()
      isStopped = true
    },
  }
}
