/**
 * The state of an open drive: the index, and over it the memtable, i.e. the change sets that the index does not have yet. The
 * engine, recovery and compaction change it; `Drive` reads it.
 *
 * Procedures see every change set (`newest…`); readers see only what is durable (`visible…`).
 */
import { crc32 } from '@node-rs/crc32'
import type { CounterEntry, Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { addSums, asBuffer, decodeCounter, encodeCounter, keyBytes, keyText } from './bytes.ts'
import { addUse, ChangeSet, type SegmentUse, type UndoLog } from './changes.ts'
import { emptyDigest, entryHash, type IndexDigest, RunningDigest } from './index-digest.ts'
import { encodePosition, type JournalPosition, positionKey } from './index-position.ts'
import type { IndexStore, IndexTable } from './index-store.ts'
import {
  isBodyMoved,
  sealStored,
  storedBlobs,
  storedBody,
  storedCheck,
  storedEntry,
  storedValue,
  verifyStored,
} from './stored-record.ts'

/**
 * A change set on its way into the index. Its sums are absolute, not differences, so they are right whether or not a reader's
 * snapshot already has them.
 */
export interface FrozenSet {
  readonly changes: ChangeSet
  readonly counters: ReadonlyMap<string, readonly number[]>
  readonly blobs: ReadonlyMap<string, number>
  /** The index writes of counters, blob counts, forwards and segment use. */
  readonly writes: readonly EntryWrite[]
  readonly position: JournalPosition
  readonly sequence: number
  /** The digest of the index after this set. */
  readonly digest: IndexDigest
}

type EntryWrite = readonly [table: IndexTable, key: Buffer, value: Buffer | undefined]

const internal = {
  blob: (id: string) => Buffer.from(`b${id}`, 'latin1'),
  forward: (location: string) => Buffer.from(`f${location}`, 'latin1'),
  segment: (segment: number) => Buffer.from(`s${String(segment).padStart(10, '0')}`, 'latin1'),
}
const noSums: readonly number[] = []

/**
 * Learns which records are in the memtable. Worker threads see only the index, so this tells them when to ask (`SharedState`).
 */
export interface MemtableObserver {
  /** A key has been added to the memtable. Called before the change is acknowledged. */
  onInserted(key: string): void
  /** These keys are now in the index and have left the memtable. */
  onIndexed(keys: Iterable<string>): void
}

/** Key of a body's location. */
export function locationText(segment: number, offset: number): string {
  return `${segment}:${offset}`
}

export class DriveState {
  readonly #derive: Derive
  readonly #emit: DerivedEmitter
  readonly index: IndexStore
  filling = new ChangeSet()
  inFlight: ChangeSet | undefined
  durable = new ChangeSet()
  frozen: FrozenSet | undefined
  /** Journal position behind the last batch in `durable`. The journal's tail is ahead of it until `absorb` runs. */
  reached: JournalPosition
  /** Use of each segment by durable records, deletes included. */
  readonly segments = new Map<number, SegmentUse>()
  readonly #removedSegments = new Set<number>()
  /** The digest of the index including the frozen set. */
  #digest: IndexDigest

  constructor(index: IndexStore, derive: Derive, reached: JournalPosition, digest: IndexDigest = emptyDigest) {
    this.index = index
    this.#digest = digest
    this.reached = reached
    this.#derive = derive
    this.#emit = new DerivedEmitter(this)
  }

  /** The stored record as the next procedure sees it. */
  newest(text: string, key: Uint8Array): Buffer | undefined {
    const filling = this.filling.records.get(text)
    if (filling !== undefined) return filling ?? undefined
    const inFlight = this.inFlight?.records.get(text)
    if (inFlight !== undefined) return inFlight ?? undefined
    return this.visible(text, key)
  }

  /** The stored record as readers see it. Throws `corrupt` when the index's copy does not verify. */
  visible(text: string, key: Uint8Array): Buffer | undefined {
    const durable = this.durable.records.get(text)
    if (durable !== undefined) return durable ?? undefined
    const frozen = this.frozen?.changes.records.get(text)
    if (frozen !== undefined) return frozen ?? undefined
    const stored = this.index.get('records', key)
    return stored === undefined ? undefined : verifyStored(stored)
  }

  newestDerived(text: string, key: Uint8Array): Uint8Array | undefined {
    for (const set of [this.filling, this.inFlight, this.durable, this.frozen?.changes]) {
      const value = set?.derived.get(text)
      if (value !== undefined) return value ?? undefined
    }
    return this.index.get('derived', key)
  }

  newestCounter(key: Uint8Array): readonly number[] {
    const text = keyText(key)
    let sums = this.#indexCounter(text, key)
    for (const set of [this.durable, this.inFlight, this.filling]) {
      const deltas = set?.counters.get(text)
      if (deltas !== undefined) sums = addSums(sums, deltas)
    }
    return normalized(sums)
  }

  visibleCounter(key: Uint8Array): readonly number[] {
    const text = keyText(key)
    const sums = this.#indexCounter(text, key)
    const deltas = this.durable.counters.get(text)
    return normalized(deltas === undefined ? sums : addSums(sums, deltas))
  }

  /** The first counters of the range whose sums are not all zero, by key. */
  visibleCounters(start: Uint8Array, end: Uint8Array, limit: number): CounterEntry[] {
    const [from, to] = [keyText(start), keyText(end)]
    const changed = new Set<string>()
    for (const counters of [this.frozen?.counters, this.durable.counters]) {
      for (const text of counters?.keys() ?? []) if (text >= from && text < to) changed.add(text)
    }
    const texts = new Set(changed)
    const range = this.index.range('counters', start, end)
    try {
      // Those that changed may be zero now.
      while (texts.size < limit + changed.size && range.next()) texts.add(keyText(range.key))
    } finally {
      range.close()
    }
    const found: CounterEntry[] = []
    for (const text of [...texts].sort()) {
      if (found.length === limit) break
      const key = keyBytes(text)
      const sums = this.visibleCounter(key)
      if (sums.length > 0) found.push({ key, sums })
    }
    return found
  }

  #indexCounter(text: string, key: Uint8Array): readonly number[] {
    const frozen = this.frozen?.counters.get(text)
    if (frozen !== undefined) return frozen
    const bytes = this.index.get('counters', key)
    return bytes === undefined ? noSums : decodeCounter(bytes)
  }

  /** Number of durable records that reference a blob. */
  visibleBlobCount(id: string): number {
    return this.#indexBlobCount(id) + (this.durable.blobs.get(id) ?? 0)
  }

  /** Whether a record references a blob, commits that are not durable yet included. */
  isBlobReferenced(id: string): boolean {
    return this.visibleBlobCount(id) > 0 || [this.inFlight, this.filling].some(set => (set?.blobs.get(id) ?? 0) > 0)
  }

  #indexBlobCount(id: string): number {
    const frozen = this.frozen?.blobs.get(id)
    if (frozen !== undefined) return frozen
    const bytes = this.index.get('internal', internal.blob(id))
    return bytes === undefined ? 0 : bytes.readDoubleLE(0)
  }

  /**
   * The key of the record that has taken over the body at a location, if its journal entry is in another segment. In the same segment compaction
   * comes upon the entry itself, as it does for nearly every shard that was staged.
   */
  newestForward(location: string): string | undefined {
    for (const set of [this.filling, this.inFlight]) {
      const owner = set?.forwards.get(location)
      if (owner !== undefined) return owner ?? undefined
    }
    return this.visibleForward(location)
  }

  visibleForward(location: string): string | undefined {
    for (const set of [this.durable, this.frozen?.changes]) {
      const owner = set?.forwards.get(location)
      if (owner !== undefined) return owner ?? undefined
    }
    return this.index.get('internal', internal.forward(location))?.latin1Slice()
  }

  /**
   * Applies one change of one record, with everything derived from it, to the `filling` set. `after` is null for a delete, whose
   * journal entry is `tombstone`. Returns the former record. Commits, replay and compaction all come through here (invariant 3 of
   * the engine).
   */
  apply(
    text: string,
    key: Buffer,
    after: Buffer | null,
    tombstone: { readonly segment: number; readonly bytes: number; readonly guard: number } | undefined,
    undo: UndoLog,
  ): Buffer | undefined {
    const { filling } = this
    const before = this.newest(text, key)
    undo.saveDigest(filling.digest)
    if (before !== undefined) {
      filling.digest.remove(entryHash('records', key, storedCheck(before)))
      this.#release(text, before, undo)
    }
    if (after !== null) {
      filling.digest.add(entryHash('records', key, storedCheck(sealStored(after))))
      this.#retain(text, after, undo)
    } else if (tombstone !== undefined) {
      this.#use(tombstone.segment, { liveBytes: 0, tombstoneBytes: tombstone.bytes, guard: tombstone.guard }, undo)
    }
    undo.set(filling.records, text, after)
    filling.bytes += 128 + text.length + (after?.length ?? 0)
    const beforeValue = before === undefined ? undefined : storedValue(before)
    const afterValue = after === null ? undefined : storedValue(after)
    this.#derive(key, beforeValue, afterValue, this.#emit.with(undo))
    return before
  }

  #release(text: string, stored: Buffer, undo: UndoLog): void {
    const entry = storedEntry(stored)
    this.#use(entry.segment, { liveBytes: -entry.bytes, tombstoneBytes: 0, guard: 0 }, undo)
    const body = storedBody(stored)
    if (body !== undefined) {
      this.#use(body.segment, { liveBytes: -body.size, tombstoneBytes: 0, guard: 0 }, undo)
      if (isBodyMoved(stored) && body.segment !== entry.segment) {
        const location = locationText(body.segment, body.offset)
        if (this.newestForward(location) === text) undo.set(this.filling.forwards, location, null)
      }
    }
    for (const id of storedBlobs(stored)) this.#countBlob(id, -1, undo)
  }

  #retain(text: string, stored: Buffer, undo: UndoLog): void {
    const entry = storedEntry(stored)
    this.#use(entry.segment, { liveBytes: entry.bytes, tombstoneBytes: 0, guard: 0 }, undo)
    const body = storedBody(stored)
    if (body !== undefined) {
      this.#use(body.segment, { liveBytes: body.size, tombstoneBytes: 0, guard: 0 }, undo)
      if (isBodyMoved(stored) && body.segment !== entry.segment) {
        undo.set(this.filling.forwards, locationText(body.segment, body.offset), text)
      }
    }
    for (const id of storedBlobs(stored)) this.#countBlob(id, 1, undo)
  }

  #use(segment: number, delta: SegmentUse, undo: UndoLog): void {
    const uses = this.filling.segments
    const use = uses.get(segment)
    undo.set(
      uses,
      segment,
      use === undefined
        ? delta
        : {
            liveBytes: use.liveBytes + delta.liveBytes,
            tombstoneBytes: use.tombstoneBytes + delta.tombstoneBytes,
            guard: Math.max(use.guard, delta.guard),
          },
    )
  }

  #countBlob(id: string, delta: number, undo: UndoLog): void {
    const { blobs } = this.filling
    undo.set(blobs, id, (blobs.get(id) ?? 0) + delta)
  }

  /** Makes a durable change set visible to readers. Returns the blobs that no durable record references any more. */
  absorb(changes: ChangeSet, reached: JournalPosition, observer?: MemtableObserver): string[] {
    const unreferenced: string[] = []
    this.reached = reached
    if (observer !== undefined) {
      for (const key of changes.records.keys()) if (!this.durable.records.has(key)) observer.onInserted(key)
    }
    if (this.durable.isEmpty) this.durable = changes
    else this.durable.absorb(changes)
    for (const [segment, use] of changes.segments) addUse(this.segments, segment, use)
    for (const [id, delta] of changes.blobs) {
      // Zero counts too: a blob that gained and lost a reference within one batch has a difference of zero.
      if (delta <= 0 && this.visibleBlobCount(id) === 0) unreferenced.push(id)
    }
    return unreferenced
  }

  /** Forgets a segment whose file has been deleted; the next checkpoint removes it from the index. */
  forgetSegment(segment: number): void {
    this.segments.delete(segment)
    this.#removedSegments.add(segment)
  }

  /** Freezes the durable changes for a checkpoint. */
  freeze(sequence: number): FrozenSet {
    const position = this.reached
    const changes = this.durable
    const counters = new Map<string, readonly number[]>()
    for (const [text, deltas] of changes.counters) {
      counters.set(text, addSums(this.#indexCounter(text, keyBytes(text)), deltas))
    }
    const blobs = new Map<string, number>()
    for (const [id, delta] of changes.blobs) blobs.set(id, this.#indexBlobCount(id) + delta)
    const writes: EntryWrite[] = []
    for (const [text, sums] of counters) {
      writes.push(['counters', keyBytes(text), normalized(sums).length === 0 ? undefined : encodeCounter(sums)])
    }
    for (const [id, count] of blobs) {
      writes.push(['internal', internal.blob(id), count === 0 ? undefined : encodeCounter([count])])
    }
    for (const [location, owner] of changes.forwards) {
      writes.push(['internal', internal.forward(location), owner === null ? undefined : keyBytes(owner)])
    }
    for (const segment of changes.segments.keys()) {
      const use = this.segments.get(segment)
      if (use === undefined || this.#removedSegments.has(segment)) continue
      const { liveBytes, tombstoneBytes, guard } = use
      writes.push(['internal', internal.segment(segment), encodeCounter([liveBytes, tombstoneBytes, guard])])
    }
    for (const segment of this.#removedSegments) writes.push(['internal', internal.segment(segment), undefined])
    this.#removedSegments.clear()
    this.#digest = this.#digestWith(changes, writes)
    this.durable = new ChangeSet()
    this.frozen = { changes, counters, blobs, writes, position, sequence, digest: this.#digest }
    return this.frozen
  }

  /** The digest of the index after these writes. */
  #digestWith(changes: ChangeSet, writes: readonly EntryWrite[]): IndexDigest {
    const digest = new RunningDigest()
    digest.absorb(this.#digest)
    digest.absorb(changes.digest)
    for (const [table, key, value] of writes) {
      const before = this.index.get(table, key)
      if (before !== undefined) digest.remove(entryHash(table, key, crc32(before)))
      if (value !== undefined) digest.add(entryHash(table, key, crc32(value)))
    }
    return { count: digest.count, sum: digest.sum }
  }

  /** Drops the frozen set, which the index has now. */
  thaw(): void {
    this.index.refresh()
    this.frozen = undefined
  }
}

function normalized(sums: readonly number[]): readonly number[] {
  for (let i = 0; i < sums.length; i++) if (sums[i] !== 0) return sums
  return noSums
}

/** Adds what `Derive` emits to the `filling` set. */
class DerivedEmitter implements DerivedWriter {
  readonly #state: DriveState
  #undo: UndoLog | undefined

  constructor(state: DriveState) {
    this.#state = state
  }

  with(undo: UndoLog): this {
    this.#undo = undo
    return this
  }

  add(counter: Uint8Array, deltas: readonly number[]): void {
    const { counters } = this.#state.filling
    const text = keyText(counter)
    const sums = counters.get(text)
    this.#undo!.set(counters, text, sums === undefined ? deltas.slice() : addSums(sums, deltas))
  }

  put(key: Uint8Array, value: Uint8Array): void {
    const { filling } = this.#state
    this.#replace(key, Buffer.from(value))
    filling.bytes += 128 + key.length + value.length
  }

  delete(key: Uint8Array): void {
    this.#replace(key, null)
  }

  #replace(key: Uint8Array, value: Buffer | null): void {
    const { derived, digest } = this.#state.filling
    const text = keyText(key)
    const before = this.#state.newestDerived(text, key)
    if (before !== undefined) digest.remove(entryHash('derived', key, crc32(before)))
    if (value !== null) digest.add(entryHash('derived', key, crc32(value)))
    this.#undo!.set(derived, text, value)
  }
}

/** Writes a frozen set to the index, together with the journal position it reaches. */
export function writeFrozen(
  frozen: FrozenSet,
  write: (table: IndexTable, key: Uint8Array, value: Uint8Array | undefined) => void,
): void {
  const { changes } = frozen
  for (const [text, stored] of changes.records) {
    write('records', keyBytes(text), stored ?? undefined)
  }
  for (const [text, value] of changes.derived) write('derived', keyBytes(text), value ?? undefined)
  for (const [table, key, value] of frozen.writes) write(table, key, value)
  write('internal', positionKey, encodePosition(frozen))
}

/** Reads the use of each segment as of the index's position. */
export function readSegmentUses(index: IndexStore, uses: Map<number, SegmentUse>): void {
  const range = index.range('internal', Buffer.from('s'), Buffer.from('t'))
  try {
    while (range.next()) {
      const [liveBytes, tombstoneBytes, guard] = decodeCounter(asBuffer(range.value)) as [number, number, number]
      uses.set(Number(range.key.latin1Slice(1)), { liveBytes, tombstoneBytes, guard })
    }
  } finally {
    range.close()
  }
}

/** The key in the table `internal` of a blob's reference count. */
export function blobKey(id: string): Buffer {
  return internal.blob(id)
}
