/**
 * A set of changes that the index does not have yet, as maps from key to the newest state. Every commit fills one; sets are
 * layered over the index: filling (not written), in flight (not acknowledged), durable, frozen (on its way into the index).
 */
import { addSums } from './bytes.ts'
import { RunningDigest } from './index-digest.ts'

/** How much of a journal segment is still needed. */
export interface SegmentUse {
  /** Bytes of entries and bodies that current records refer to. */
  liveBytes: number
  /** Bytes of delete entries, needed as long as a segment numbered `guard` or lower exists. */
  tombstoneBytes: number
  guard: number
}

export class ChangeSet {
  /** Stored records; null where deleted. */
  readonly records = new Map<string, Buffer | null>()
  readonly derived = new Map<string, Uint8Array | null>()
  /** Differences, not sums. */
  readonly counters = new Map<string, readonly number[]>()
  /** Differences of how many records reference a blob, by blob id. */
  readonly blobs = new Map<string, number>()
  /** Owners of bodies that are not where their record's entry is, by location. */
  readonly forwards = new Map<string, string | null>()
  /** Differences by segment number. */
  readonly segments = new Map<number, SegmentUse>()
  /** What records and derived entries change in the digest of the index. */
  readonly digest = new RunningDigest()
  /** Rough size in memory. */
  bytes = 0

  get isEmpty(): boolean {
    return this.records.size === 0
  }

  /** How many entries a checkpoint of this set will write. */
  get entryCount(): number {
    return this.records.size + this.derived.size + this.counters.size + this.blobs.size + this.forwards.size
  }

  /** Takes over the changes of a later set. */
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

/** Undoes the changes of one transaction, newest first. */
export class UndoLog {
  readonly #steps: unknown[] = []
  #digest: RunningDigest | undefined
  #count = 0
  #sum = 0

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    this.#steps.push(map, key, map.get(key))
    map.set(key, value)
  }

  /** Notes a digest before its first change. */
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
