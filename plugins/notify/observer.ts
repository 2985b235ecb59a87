/** Puts the events of a change into queues and the outbox, inside the commit of the change. */

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
  /** Undefined: no event is kept for a replay. */
  readonly outbox: Outbox | undefined
  limitOf(queue: string): number
  /** An event found the queue full. */
  onFull(target: string): void
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
    if (found instanceof Promise)
      throw new Error('notify: the storage thread does not have the rules of the bucket in memory')
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

/** Each target once, with the first rule that names it. Rules of a former release, or imported ones, may name no target. */
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
    // The queue stores text; unpaired surrogates become U+FFFD.
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

/** With the names of headers as keys, as other servers do. */
function shownMetadata(user: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(user).map(([name, value]) => [
      `X-Amz-Meta-${name.replace(/(^|-)[a-z]/g, letters => letters.toUpperCase())}`,
      value,
    ]),
  )
}
