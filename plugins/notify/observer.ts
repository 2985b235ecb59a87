/** From a change of an object to entries of queues and of the outbox, inside the commit of the change. */

import type { MaybePromise } from 'svc/kernel'
import type { ObjectEvent, ObjectObserver } from 'svc/plugins/objects/api'
import type { QueueTopic } from 'svc/plugins/queue/api'
import type { Transaction } from 'svc/plugins/storage/api'
import { parseArn, targetId } from './arn.ts'
import type { MatchedRule, NotificationMatcher } from './bucket-notifications.ts'
import { encodeEvent } from './kept-event.ts'
import { type KeptEvent, sequencerOf } from './message.ts'
import type { Outbox } from './outbox.ts'

export interface ObserverOptions {
  matcher(bucket: string): MaybePromise<NotificationMatcher | undefined>
  readonly topic: Pick<QueueTopic, 'put'>
  /** Undefined: nothing is kept for a replay. */
  readonly outbox: Outbox | undefined
  /** Entries that a queue may have. */
  limitOf(queue: string): number
  /** There was no room for an event. */
  onFull(queue: string): void
}

export function createObserver({ matcher, topic, outbox, limitOf, onFull }: ObserverOptions): ObjectObserver {
  // Numbers within one commit: a sequence is never used twice.
  let numbered = -1
  let count = 0
  const nextNumber = ({ sequence }: Transaction): number => {
    if (sequence !== numbered) {
      numbered = sequence
      count = 0
    }
    return count++
  }

  const matcherOf = (bucket: string): NotificationMatcher | undefined => {
    const found = matcher(bucket)
    // Without them, events would be lost in silence.
    if (found instanceof Promise) throw new Error('notify: the rules of a bucket are not at hand in the storage thread')
    return found
  }

  return {
    wants: bucket => matcherOf(bucket) !== undefined,
    observe(tx, event) {
      const rules = matcherOf(event.bucket)?.match(event.name, event.key)
      if (rules === undefined || rules.length === 0) return
      const number = nextNumber(tx)
      const kept = keep(event, tx, number)
      const entryKey = `${kept.bucket}/${kept.key}`
      for (const [queue, { id }] of queuesOf(rules)) {
        const entry = { key: entryKey, payload: encodeEvent(kept, id) }
        if (!topic.put(tx, queue, entry, limitOf(queue))) onFull(queue)
      }
      outbox?.put(tx, number, kept)
    },
  }
}

/** Each destination once, with the first rule that names it. What names none was put by a former release, or imported. */
export function queuesOf(rules: readonly MatchedRule[]): ReadonlyMap<string, MatchedRule> {
  const queues = new Map<string, MatchedRule>()
  for (const rule of rules) {
    const name = parseArn(rule.arn)
    if (name === undefined) continue
    const queue = targetId(name)
    if (!queues.has(queue)) queues.set(queue, rule)
  }
  return queues
}

function keep(event: ObjectEvent, tx: Transaction, number: number): KeptEvent {
  const { name, bucket, key, versionId, origin } = event
  const version = event.version()
  return {
    name,
    timeMs: tx.nowMs,
    bucket,
    // What no text can hold stands in the record as U+FFFD, too.
    key: key.toWellFormed(),
    sequencer: sequencerOf(tx.sequence, number),
    versionId,
    object: version && {
      sizeBytes: version.sizeBytes,
      etag: version.etag,
      contentType: version.system.contentType,
      userMetadata: shownMetadata(version.user),
    },
    origin,
  }
}

/** By the names of headers, as other servers show them. */
function shownMetadata(user: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      `X-Amz-Meta-${name.replace(/(^|-)[a-z]/g, letters => letters.toUpperCase())}`,
      value,
    ]),
  )
}
