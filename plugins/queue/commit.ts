/**
 * Changes of queues, made under the commit lock. A commit checks the limit against the counter that it changes itself, so concurrent
 * writers never exceed a limit.
 */
import type { Derive, Procedure, Transaction } from 'svc/plugins/storage/api'
import type { NewEntry } from './api.ts'
import { checkEntry, encodeDeadLetter, encodeEntry, encodeRequeued, isInBody, payloadSizeOf } from './entry.ts'
import { counterOf, entriesPerCommitMax, entryKey, type QueuePlace } from './keys.ts'

/** Names of the procedures. */
export const procedure = {
  push: 'queue.push',
  remove: 'queue.remove',
  deadLetter: 'queue.deadLetter',
  requeue: 'queue.requeue',
  barrier: 'queue.barrier',
} as const

export interface PushArguments {
  readonly topic: string
  readonly queue: string
  readonly entries: readonly NewEntry[]
  readonly limit: number
}

export interface DeadLetterArguments {
  readonly place: QueuePlace
  readonly key: Buffer
  readonly reason: string
  readonly attempts: number
  /** Keys of the oldest dead letters, deleted to make room. */
  readonly dropped: readonly Buffer[]
}

export interface RequeueArguments {
  readonly place: QueuePlace
  /** Keys of dead letters. */
  readonly keys: readonly Buffer[]
}

export interface CommitOptions {
  inlineBytesMax(): number
  place(topic: string, queue: string): QueuePlace
  /** Called inside the commit: the entry becomes visible when the commit is durable, or never. */
  onPut(place: QueuePlace, key: Buffer): void
  onRefused(place: QueuePlace, count: number): void
}

export interface Commit {
  put(tx: Transaction, place: QueuePlace, entry: NewEntry, limit: number): boolean
  readonly procedures: Readonly<Record<string, Procedure>>
}

/** Slots of a queue's counter. */
export const slot = { pending: 0, pendingBytes: 1, deadLetters: 2 } as const

export const deriveCounts: Derive = (key, before, after, emit) => {
  const queue = counterOf(key)
  if (queue === undefined) return
  const entries = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  if (queue.isDead) {
    if (entries !== 0) emit.add(queue.count, [0, 0, entries])
    return
  }
  const bytes = (after === undefined ? 0 : payloadSizeOf(after)) - (before === undefined ? 0 : payloadSizeOf(before))
  if (entries !== 0 || bytes !== 0) emit.add(queue.count, [entries, bytes, 0])
}

export function createCommit({ inlineBytesMax, place: placeOf, onPut, onRefused }: CommitOptions): Commit {
  // Numbers within one commit. A sequence is never used twice, not even after its commit was rolled back.
  let numbered = -1
  let count = 0

  const nextKey = (tx: Transaction, prefix: Buffer): Buffer => {
    if (tx.sequence !== numbered) {
      numbered = tx.sequence
      count = 0
    }
    if (count === entriesPerCommitMax)
      throw new RangeError(`queue: a commit puts at most ${entriesPerCommitMax} entries`)
    return entryKey(prefix, tx.sequence, count++)
  }

  const hasRoom = (tx: Transaction, place: QueuePlace, limit: number): boolean =>
    (tx.counter(place.count)[slot.pending] ?? 0) < limit

  const put = (tx: Transaction, place: QueuePlace, { key, payload }: NewEntry, limit: number): boolean => {
    checkEntry(key, payload)
    if (!hasRoom(tx, place, limit)) {
      onRefused(place, 1)
      return false
    }
    const recordKey = nextKey(tx, place.waiting)
    if (isInBody(payload.length, inlineBytesMax())) {
      tx.put(recordKey, encodeEntry(key, payload, tx.nowMs, true), { body: payload })
    } else tx.put(recordKey, encodeEntry(key, payload, tx.nowMs, false))
    onPut(place, recordKey)
    return true
  }

  return {
    put,
    procedures: {
      [procedure.push](tx, { topic, queue, entries, limit }: PushArguments): number {
        const place = placeOf(topic, queue)
        let taken = 0
        while (taken < entries.length && put(tx, place, entries[taken]!, limit)) taken++
        if (taken < entries.length - 1) onRefused(place, entries.length - taken - 1)
        return taken
      },
      [procedure.remove](tx, keys: readonly Buffer[]): number {
        let removed = 0
        for (const key of keys) {
          if (tx.get(key) === undefined) continue
          tx.delete(key)
          removed++
        }
        return removed
      },
      [procedure.deadLetter](tx, { place, key, reason, attempts, dropped }: DeadLetterArguments): void {
        const record = tx.get(key)
        if (record === undefined) return
        for (const oldest of dropped) tx.delete(oldest)
        const dead = encodeDeadLetter(record.value, { reason, attempts, givenUpMs: tx.nowMs })
        // A new id, so that an entry that others have overtaken comes behind the dead letters that were listed already.
        tx.put(nextKey(tx, place.dead), dead, { bodyOf: key })
        tx.delete(key)
      },
      [procedure.requeue](tx, { place, keys }: RequeueArguments): number {
        let requeued = 0
        for (const key of keys) {
          const record = tx.get(key)
          if (record === undefined) continue
          const recordKey = nextKey(tx, place.waiting)
          tx.put(recordKey, encodeRequeued(record.value), { bodyOf: key })
          tx.delete(key)
          onPut(place, recordKey)
          requeued++
        }
        return requeued
      },
      /** Changes nothing. When it resolves, every earlier commit is visible or rolled back. */
      [procedure.barrier]: tx => tx.sequence,
    },
  }
}
