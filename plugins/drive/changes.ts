/**
 * A change set: changes that the index does not have yet, as maps from key to newest state. Each commit fills one. The memtable
 * is four layers of them over the index: filling (not written), in flight (not acknowledged), durable, frozen (being written to
 * the index). Also the undo log that rolls back one transaction.
 */
import { addSums } from './bytes.ts'
import { RunningDigest } from './index-digest.ts'
import { OrderedMap } from './ordered-map.ts'

/** How much of a journal segment is still needed. */
export interface SegmentUse {
  /** Bytes of entries and bodies that current records refer to. */
  liveBytes: number
  /** Bytes of delete entries. They are needed as long as a segment numbered `guard` or lower exists. */
  tombstoneBytes: number
  guard: number
}

export class ChangeSet {
  /** Stored records; null for a deleted one. */
  readonly records = new OrderedMap<Buffer | null>()
  readonly derived = new OrderedMap<Uint8Array | null>()
  /** Differences to the layer below, not sums. */
  readonly counters = new Map<string, readonly number[]>()
  /** Differences of the number of records that reference a blob, by blob id. */
  readonly blobs = new Map<string, number>()
  /** By location of a body: the key of the record that took it over (null: nobody any more). */
  readonly forwards = new Map<string, string | null>()
  /** Differences, by segment number. */
  readonly segments = new Map<number, SegmentUse>()
  /** How records and derived entries change the digest of the index. */
  readonly digest = new RunningDigest()
  /** Approximate size in memory. */
  bytes = 0

  get isEmpty(): boolean {
    return this.records.size === 0
  }

  /** Number of entries that a checkpoint of this set writes. */
  get entryCount(): number {
    return this.records.size + this.derived.size + this.counters.size + this.blobs.size + this.forwards.size
  }

  /** Adds the changes of a later set. */
  absorb(later: ChangeSet): void {
    for (const [key, stored] of later.records) this.records.set(key, stored)
    for (const [key, value] of later.derived) this.derived.set(key, value)
    for (const [key, deltas] of later.counters) {
      const sums = this.counters.get(key)
      this.counters.set(key, sums === undefined ? deltas : addSums(sums, deltas))
    }
    for (const [id, delta] of later.blobs) this.blobs.set(id, (this.blobs.get(id) ?? 0) + delta)
    for (const [location, owner] of later.forwards) this.forwards.set(location, owner)
    for (const [segment, use] of later.segments) addUse(this.segments, segment, use)
    this.digest.absorb(later.digest)
    this.bytes += later.bytes
  }
}

export function addUse(uses: Map<number, SegmentUse>, segment: number, delta: SegmentUse): void {
  const use = uses.get(segment)
  if (use === undefined) {
    uses.set(segment, { ...delta })
    return
  }
  use.liveBytes += delta.liveBytes
  use.tombstoneBytes += delta.tombstoneBytes
  use.guard = Math.max(use.guard, delta.guard)
}

/** Rolls back the changes of one transaction, newest first. */
export class UndoLog {
  readonly #steps: unknown[] = []
  #digest: RunningDigest | undefined
  #count = 0
  #sum = 0

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    this.#steps.push(map, key, map.get(key))
    map.set(key, value)
  }

  /** Saves a digest before its first change. */
  saveDigest(digest: RunningDigest): void {
    if (this.#digest !== undefined) return
    this.#digest = digest
    this.#count = digest.count
    this.#sum = digest.sum
  }

  clear(): void {
    this.#steps.length = 0
    this.#digest = undefined
  }

  rollBack(): void {
    if (this.#digest !== undefined) {
      this.#digest.count = this.#count
      this.#digest.sum = this.#sum
      this.#digest = undefined
    }
    const steps = this.#steps
    while (steps.length > 0) {
      const previous = steps.pop()
      const key = steps.pop()
      const map = steps.pop() as Map<unknown, unknown>
      if (previous === undefined) map.delete(key)
      else map.set(key, previous)
    }
  }
}
