/**
 * What the drive knows: the index, and over it the change sets that the index does not have yet. Procedures see all of it
 * (`newest…`), readers only what is durable (`visible…`).
 */
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { addSums, asBuffer, decodeCounter, encodeCounter, keyBytes, keyText } from './bytes.ts'
import { addUse, ChangeSet, type SegmentUse, type UndoLog } from './changes.ts'
import type { IndexStore, IndexTable } from './index-store.ts'
import type { JournalPosition } from './journal.ts'
import {
  isBodyMoved,
  sealStored,
  storedBlobs,
  storedBody,
  storedEntry,
  storedValue,
  verifyStored,
} from './stored-record.ts'

/** A set on its way into the index. Sums are absolute, so that they hold whether or not a reader's snapshot has them. */
export interface FrozenSet {
  readonly changes: ChangeSet
  readonly counters: ReadonlyMap<string, readonly number[]>
  readonly blobs: ReadonlyMap<string, number>
  readonly segments: ReadonlyMap<number, SegmentUse>
  readonly removedSegments: ReadonlySet<number>
  readonly position: JournalPosition
  readonly sequence: number
}

const internal = {
  position: Buffer.from('position'),
  blob: (id: string) => Buffer.from(`b${id}`, 'latin1'),
  forward: (location: string) => Buffer.from(`f${location}`, 'latin1'),
  segment: (segment: number) => Buffer.from(`s${String(segment).padStart(10, '0')}`, 'latin1'),
}
const noSums: readonly number[] = []

/** Learns which records the index does not have: for readers in other threads, who see only the index. */
export interface OverlayObserver {
  /** A key has come into the overlay. Called before the change is acknowledged. */
  onOverlaid(key: string): void
  /** These keys have left it: readers of the index see them. */
  onIndexed(keys: Iterable<string>): void
}

/** A body's location as a key. */
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
  /** Behind the last batch whose changes are in `durable`. Not the journal's tail: that is ahead until the changes are taken in. */
  reached: JournalPosition
  /** Use of each segment by durable records. */
  readonly segments = new Map<number, SegmentUse>()
  readonly #removedSegments = new Set<number>()

  constructor(index: IndexStore, derive: Derive, reached: JournalPosition) {
    this.index = index
    this.reached = reached
    this.#derive = derive
    this.#emit = new DerivedEmitter(this)
  }

  /** The stored record that the next procedure sees. */
  newest(text: string, key: Uint8Array): Buffer | undefined {
    const filling = this.filling.records.get(text)
    if (filling !== undefined) return filling ?? undefined
    const inFlight = this.inFlight?.records.get(text)
    if (inFlight !== undefined) return inFlight ?? undefined
    return this.visible(text, key)
  }

  /** The stored record that readers see. */
  visible(text: string, key: Uint8Array): Buffer | undefined {
    const durable = this.durable.records.get(text)
    if (durable !== undefined) return durable ?? undefined
    const frozen = this.frozen?.changes.records.get(text)
    if (frozen !== undefined) return frozen ?? undefined
    const stored = this.index.get('records', key)
    return stored === undefined ? undefined : verifyStored(stored)
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

  #indexCounter(text: string, key: Uint8Array): readonly number[] {
    const frozen = this.frozen?.counters.get(text)
    if (frozen !== undefined) return frozen
    const bytes = this.index.get('counters', key)
    return bytes === undefined ? noSums : decodeCounter(bytes)
  }

  /** How many durable records reference a blob. */
  visibleBlobCount(id: string): number {
    return this.#indexBlobCount(id) + (this.durable.blobs.get(id) ?? 0)
  }

  #indexBlobCount(id: string): number {
    const frozen = this.frozen?.blobs.get(id)
    if (frozen !== undefined) return frozen
    const bytes = this.index.get('internal', internal.blob(id))
    return bytes === undefined ? 0 : bytes.readDoubleLE(0)
  }

  /** The key of the record that has taken over the body at a location. */
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
   * One change of one record, with all that follows from it, into the set that is being filled. `after` is null for a delete,
   * which takes `tombstoneBytes` in `segment`. Returns the former record.
   */
  apply(
    text: string,
    key: Buffer,
    after: Buffer | null,
    tombstone: { readonly segment: number; readonly bytes: number; readonly guard: number } | undefined,
    undo: UndoLog,
  ): void {
    const { filling } = this
    const before = this.newest(text, key)
    if (before !== undefined) this.#release(text, before, undo)
    if (after !== null) this.#hold(text, after, undo)
    else if (tombstone !== undefined) {
      this.#use(tombstone.segment, { liveBytes: 0, tombstoneBytes: tombstone.bytes, guard: tombstone.guard }, undo)
    }
    undo.set(filling.records, text, after)
    filling.bytes += 128 + text.length + (after?.length ?? 0)
    const beforeValue = before === undefined ? undefined : storedValue(before)
    const afterValue = after === null ? undefined : storedValue(after)
    this.#derive(key, beforeValue, afterValue, this.#emit.with(undo))
  }

  #release(text: string, stored: Buffer, undo: UndoLog): void {
    const entry = storedEntry(stored)
    this.#use(entry.segment, { liveBytes: -entry.bytes, tombstoneBytes: 0, guard: 0 }, undo)
    const body = storedBody(stored)
    if (body !== undefined) {
      this.#use(body.segment, { liveBytes: -body.size, tombstoneBytes: 0, guard: 0 }, undo)
      if (isBodyMoved(stored)) {
        const location = locationText(body.segment, body.offset)
        if (this.newestForward(location) === text) undo.set(this.filling.forwards, location, null)
      }
    }
    for (const id of storedBlobs(stored)) this.#countBlob(id, -1, undo)
  }

  #hold(text: string, stored: Buffer, undo: UndoLog): void {
    const entry = storedEntry(stored)
    this.#use(entry.segment, { liveBytes: entry.bytes, tombstoneBytes: 0, guard: 0 }, undo)
    const body = storedBody(stored)
    if (body !== undefined) {
      this.#use(body.segment, { liveBytes: body.size, tombstoneBytes: 0, guard: 0 }, undo)
      if (isBodyMoved(stored)) undo.set(this.filling.forwards, locationText(body.segment, body.offset), text)
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

  /** Makes a set visible that has become durable. Returns the blobs that nothing references any more. */
  absorb(changes: ChangeSet, reached: JournalPosition, observer?: OverlayObserver): string[] {
    const unreferenced: string[] = []
    this.reached = reached
    if (observer !== undefined) {
      for (const key of changes.records.keys()) if (!this.durable.records.has(key)) observer.onOverlaid(key)
    }
    if (this.durable.isEmpty) this.durable = changes
    else this.durable.absorb(changes)
    for (const [segment, use] of changes.segments) addUse(this.segments, segment, use)
    for (const [id, delta] of changes.blobs) {
      // Not only what has lost a reference: a blob that was gained and lost within one batch has a difference of zero.
      if (delta <= 0 && this.visibleBlobCount(id) === 0) unreferenced.push(id)
    }
    return unreferenced
  }

  /** Forgets a segment that has been deleted; the next checkpoint removes it from the index. */
  forgetSegment(segment: number): void {
    this.segments.delete(segment)
    this.#removedSegments.add(segment)
  }

  /** Sets the durable changes aside for the index. */
  freeze(sequence: number): FrozenSet {
    const position = this.reached
    const changes = this.durable
    const counters = new Map<string, readonly number[]>()
    for (const [text, deltas] of changes.counters) {
      counters.set(text, addSums(this.#indexCounter(text, keyBytes(text)), deltas))
    }
    const blobs = new Map<string, number>()
    for (const [id, delta] of changes.blobs) blobs.set(id, this.#indexBlobCount(id) + delta)
    const segments = new Map<number, SegmentUse>()
    for (const segment of changes.segments.keys()) {
      const use = this.segments.get(segment)
      if (use !== undefined) segments.set(segment, { ...use })
    }
    const removedSegments = new Set(this.#removedSegments)
    this.#removedSegments.clear()
    this.durable = new ChangeSet()
    this.frozen = { changes, counters, blobs, segments, removedSegments, position, sequence }
    return this.frozen
  }

  /** Drops the frozen set: the index has it. */
  thaw(): void {
    this.index.refresh()
    this.frozen = undefined
  }
}

function normalized(sums: readonly number[]): readonly number[] {
  for (let i = 0; i < sums.length; i++) if (sums[i] !== 0) return sums
  return noSums
}

/** Receives what `Derive` emits, into the set that is being filled. */
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
    this.#undo!.set(filling.derived, keyText(key), Buffer.from(value))
    filling.bytes += 128 + key.length + value.length
  }

  delete(key: Uint8Array): void {
    this.#undo!.set(this.#state.filling.derived, keyText(key), null)
  }
}

/** Writes a frozen set, and with it the position in the journal that it reaches. */
export function writeFrozen(
  frozen: FrozenSet,
  write: (table: IndexTable, key: Uint8Array, value: Uint8Array | undefined) => void,
): void {
  const { changes } = frozen
  for (const [text, stored] of changes.records) {
    write('records', keyBytes(text), stored === null ? undefined : sealStored(stored))
  }
  for (const [text, value] of changes.derived) write('derived', keyBytes(text), value ?? undefined)
  for (const [text, sums] of frozen.counters) {
    write('counters', keyBytes(text), normalized(sums).length === 0 ? undefined : encodeCounter(sums))
  }
  for (const [id, count] of frozen.blobs) {
    write('internal', internal.blob(id), count === 0 ? undefined : encodeCounter([count]))
  }
  for (const [location, owner] of changes.forwards) {
    write('internal', internal.forward(location), owner === null ? undefined : keyBytes(owner))
  }
  for (const segment of frozen.removedSegments) write('internal', internal.segment(segment), undefined)
  for (const [segment, use] of frozen.segments) {
    if (!frozen.removedSegments.has(segment)) {
      write('internal', internal.segment(segment), encodeCounter([use.liveBytes, use.tombstoneBytes, use.guard]))
    }
  }
  const { position } = frozen
  write(
    'internal',
    internal.position,
    encodeCounter([position.segment, position.offset, position.batch, position.crc, frozen.sequence]),
  )
}

export interface IndexPosition {
  readonly position: JournalPosition
  readonly sequence: number
}

/** How far into the journal an index reaches; undefined for an empty one. */
export function readPosition(index: IndexStore): IndexPosition | undefined {
  const bytes = index.get('internal', internal.position)
  if (bytes === undefined || bytes.length !== 40) return undefined
  const [segment, offset, batch, crc, sequence] = decodeCounter(bytes) as [number, number, number, number, number]
  return { position: { segment, offset, batch, crc }, sequence }
}

/** The use of each segment as of the index's position. */
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

/** Whether any record that the index has references a blob. */
export function blobKey(id: string): Buffer {
  return internal.blob(id)
}
