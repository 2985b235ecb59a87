/**
 * Changes of the queue, made under the commit lock: what waits is bounded by the counter that the same commit moves, so writers
 * together do not pass a limit by one.
 */
import type { Derive, Procedure, Transaction } from 'svc/plugins/storage/api'
import type { NewEntry } from './api.ts'
import { checkEntry, encodeDead, encodeEntry, encodeRevived, isBeside, payloadSizeOf } from './entry.ts'
import { counterOf, entriesPerCommitMax, entryKey, keyWithPrefix, type LanePlace } from './keys.ts'

/** Names of the procedures. */
export const procedure = {
  push: 'queue.push',
  remove: 'queue.remove',
  bury: 'queue.bury',
  revive: 'queue.revive',
  settle: 'queue.settle',
} as const

export interface PushArguments {
  readonly family: string
  readonly lane: string
  readonly entries: readonly NewEntry[]
  readonly limit: number
}

export interface BuryArguments {
  readonly place: LanePlace
  readonly key: Buffer
  readonly reason: string
  readonly attempts: number
  /** Keys of the oldest dead letters, which have to go for this one. */
  readonly dropped: readonly Buffer[]
}

export interface ReviveArguments {
  readonly place: LanePlace
  /** Keys of dead letters. */
  readonly keys: readonly Buffer[]
}

export interface CommitOptions {
  inlineBytesMax(): number
  place(family: string, lane: string): LanePlace
  /** An entry was put: it shows up when the commit is durable, or never. */
  onPut(place: LanePlace, key: Buffer): void
  onRefused(place: LanePlace, count: number): void
}

export interface Commit {
  put(tx: Transaction, place: LanePlace, entry: NewEntry, limit: number): boolean
  readonly procedures: Readonly<Record<string, Procedure>>
}

/** Slots of a lane's counter. */
export const slot = { pending: 0, pendingBytes: 1, deadLetters: 2 } as const

export const deriveCounts: Derive = (key, before, after, emit) => {
  const lane = counterOf(key)
  if (lane === undefined) return
  const entries = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1)
  if (lane.isDead) {
    if (entries !== 0) emit.add(lane.count, [0, 0, entries])
    return
  }
  const bytes = (after === undefined ? 0 : payloadSizeOf(after)) - (before === undefined ? 0 : payloadSizeOf(before))
  if (entries !== 0 || bytes !== 0) emit.add(lane.count, [entries, bytes, 0])
}

export function createCommit({ inlineBytesMax, place: placeOf, onPut, onRefused }: CommitOptions): Commit {
  // Numbers within one commit. A sequence is never used twice, not even when the commit that had it was taken back.
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

  const hasRoom = (tx: Transaction, place: LanePlace, limit: number): boolean =>
    (tx.counter(place.count)[slot.pending] ?? 0) < limit

  const put = (tx: Transaction, place: LanePlace, { key, payload }: NewEntry, limit: number): boolean => {
    checkEntry(key, payload)
    if (!hasRoom(tx, place, limit)) {
      onRefused(place, 1)
      return false
    }
    const recordKey = nextKey(tx, place.waiting)
    if (isBeside(payload.length, inlineBytesMax())) {
      tx.put(recordKey, encodeEntry(key, payload, tx.nowMs, true), { body: payload })
    } else tx.put(recordKey, encodeEntry(key, payload, tx.nowMs, false))
    onPut(place, recordKey)
    return true
  }

  return {
    put,
    procedures: {
      [procedure.push](tx, { family, lane, entries, limit }: PushArguments): number {
        const place = placeOf(family, lane)
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
      [procedure.bury](tx, { place, key, reason, attempts, dropped }: BuryArguments): void {
        const record = tx.get(key)
        if (record === undefined) return
        for (const oldest of dropped) tx.delete(oldest)
        const dead = encodeDead(record.value, { reason, attempts, givenUpMs: tx.nowMs })
        tx.put(keyWithPrefix(place.dead, key), dead, { bodyOf: key })
        tx.delete(key)
      },
      [procedure.revive](tx, { place, keys }: ReviveArguments): number {
        let revived = 0
        for (const key of keys) {
          const record = tx.get(key)
          if (record === undefined) continue
          const recordKey = nextKey(tx, place.waiting)
          tx.put(recordKey, encodeRevived(record.value), { bodyOf: key })
          tx.delete(key)
          onPut(place, recordKey)
          revived++
        }
        return revived
      },
      /** Changes nothing: whoever waits for it has waited for every commit before it. */
      [procedure.settle]: tx => tx.sequence,
    },
  }
}
