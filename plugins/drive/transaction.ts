/**
 * The transaction handed to a procedure. Its changes go into the `filling` change set and the batch buffer immediately; `rollBack`
 * reverts both after a throw. The engine reuses one instance for all procedures, because they run one at a time.
 *
 * Guarantee: after `rollBack` the change set, its digest and the batch are as they were before `begin`.
 */
import { crc32 } from '@node-rs/crc32'
import type { BodyRef, PutOptions, RecordKey, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import type { Batch } from './batch.ts'
import { asBuffer, keyText } from './bytes.ts'
import { UndoLog } from './changes.ts'
import { walk } from './cursor.ts'
import type { DriveState } from './state.ts'
import { blobIdBytes, encodeStored, storedBlobs, storedBody, storedEntry, storedValue } from './stored-record.ts'

/** LMDB fits keys of 4,026 bytes on its pages; the difference is left for table prefixes. */
export const keyBytesMax = 3900
/** A larger transaction is refused, because a batch is held in memory as a whole. */
export const transactionBytesMax = 64 * 1024 * 1024
const blobsPerRecordMax = 65_535
const noBlobs: readonly string[] = []

export class DriveTransaction implements Transaction {
  readonly #state: DriveState
  readonly #inlineBytesMax: number
  readonly #undo = new UndoLog()
  /** Keys whose body another record took over (`bodyOf`) in this transaction, with that body. */
  readonly #taken: { readonly text: string; readonly key: Buffer; readonly body: BodyRef }[] = []
  #batch: Batch | undefined
  sequence = 0
  nowMs = 0
  #hasPuts = false
  #hasDeletes = false
  #hasBodies = false
  /** Growth of the stored bytes; negative when it removes more than it adds. */
  #growthBytes = 0

  constructor(state: DriveState, inlineBytesMax: number) {
    this.#state = state
    this.#inlineBytesMax = inlineBytesMax
  }

  begin(batch: Batch, sequence: number, nowMs: number): void {
    this.#batch = batch
    this.sequence = sequence
    this.nowMs = nowMs
    this.#hasPuts = false
    this.#hasDeletes = false
    this.#hasBodies = false
    this.#growthBytes = 0
    batch.beginTransaction()
  }

  /** Whether it stores more than it removes. Other transactions run on a full drive too: they lead to free space. */
  get needsRoom(): boolean {
    return this.#hasPuts && (this.#hasBodies || !this.#hasDeletes || this.#growthBytes >= 0)
  }

  /** Whether the transaction has changed anything. */
  get isDirty(): boolean {
    return this.#batch!.entries.hasEntries
  }

  /** Adds the transaction to the batch. When it throws, the caller must call `rollBack`. */
  finish(): void {
    this.#checkTakenBodies()
    if (this.isDirty) this.#batch!.endTransaction(this.sequence)
    else this.#batch!.cancelTransaction()
    this.#end()
  }

  rollBack(): void {
    this.#batch!.cancelTransaction()
    this.#undo.rollBack()
    this.#end()
  }

  #end(): void {
    this.#batch = undefined
    this.#undo.clear()
    this.#taken.length = 0
  }

  get(key: RecordKey): StoredRecord | undefined {
    const stored = this.#state.newest(keyText(key), key)
    return stored === undefined ? undefined : { value: storedValue(stored), body: storedBody(stored) }
  }

  first(start: RecordKey, end: RecordKey): { readonly key: RecordKey; readonly record: StoredRecord } | undefined {
    const { index, frozen, durable, inFlight, filling } = this.#state
    return walk(index, 'records', [frozen?.changes, durable, inFlight, filling], start, end, cursor =>
      cursor.next() ? { key: cursor.key, record: { value: cursor.value, body: cursor.body } } : undefined,
    )
  }

  counter(key: RecordKey): readonly number[] {
    return this.#state.newestCounter(key)
  }

  put(key: RecordKey, value: Uint8Array, options?: PutOptions): void {
    const batch = this.#openBatch()
    if (key.length === 0 || key.length > keyBytesMax)
      throw new RangeError(`A record key has 1 to ${keyBytesMax} bytes.`)
    const blobs = options?.blobs ?? noBlobs
    if (blobs.length > blobsPerRecordMax)
      throw new RangeError(`A record references at most ${blobsPerRecordMax} blobs.`)
    for (const id of blobs)
      if (id.length !== blobIdBytes) throw new RangeError(`A blob id has ${blobIdBytes} characters.`)
    let body: BodyRef | undefined
    let moved = false
    if (options?.body !== undefined) body = this.#writeBody(batch, options.body)
    else if (options?.bodyOf !== undefined) {
      body = this.#takeBody(options.bodyOf, keyText(key))
      moved = body !== undefined
    }
    if (options?.isUpkeep !== true) this.#hasPuts = true
    if (options?.body !== undefined) this.#hasBodies = true
    this.#put(batch, asBuffer(key), value, body, moved, blobs)
  }

  #put(
    batch: Batch,
    key: Buffer,
    value: Uint8Array,
    body: BodyRef | undefined,
    moved: boolean,
    blobs: readonly string[],
  ): void {
    const bytes = batch.entries.put(key, value, body, moved, blobs)
    this.#checkSize(batch)
    const entry = { segment: batch.place.segment, sequence: this.sequence, bytes }
    const stored = encodeStored(entry, body, moved, blobs, value)
    const before = this.#state.apply(keyText(key), key, stored, undefined, this.#undo)
    this.#growthBytes += stored.length - (before?.length ?? 0)
  }

  #writeBody(batch: Batch, body: Uint8Array): BodyRef {
    if (body.length > this.#inlineBytesMax) {
      throw storageErrors.body_too_large(`A body of ${body.length} bytes is over ${this.#inlineBytesMax}.`)
    }
    const check = crc32(body)
    const offset = batch.writeBody(body)
    return { segment: batch.place.segment, offset, size: body.length, check }
  }

  #takeBody(from: RecordKey, to: string): BodyRef | undefined {
    const text = keyText(from)
    const stored = this.#state.newest(text, from)
    if (stored === undefined) throw new Error('bodyOf names a record that does not exist')
    const body = storedBody(stored)
    if (body !== undefined && text !== to) this.#taken.push({ text, key: Buffer.from(from), body })
    return body
  }

  #checkTakenBodies(): void {
    for (const { text, key, body } of this.#taken) {
      const stored = this.#state.newest(text, key)
      const still = stored === undefined ? undefined : storedBody(stored)
      if (still !== undefined && still.segment === body.segment && still.offset === body.offset) {
        throw new Error('a body was taken over, but its former record still has it')
      }
    }
  }

  delete(key: RecordKey): void {
    const batch = this.#openBatch()
    const text = keyText(key)
    const before = this.#state.newest(text, key)
    if (before === undefined) return
    const guard = storedEntry(before).segment
    this.#delete(batch, text, asBuffer(key), guard)
  }

  #delete(batch: Batch, text: string, key: Buffer, guard: number): void {
    const bytes = batch.entries.delete(key, guard)
    this.#checkSize(batch)
    const before = this.#state.apply(text, key, null, { segment: batch.place.segment, bytes, guard }, this.#undo)
    this.#hasDeletes = true
    if (before !== undefined) this.#growthBytes -= before.length + this.#freedBy(text, before)
  }

  /**
   * Estimates the bytes freed beside a deleted record: its body or its blobs. Another record may have taken over the body or share
   * the blobs. The estimate lets a delete that also stores an event run on a full drive.
   */
  #freedBy(text: string, stored: Buffer): number {
    const body = storedBody(stored)
    if (body !== undefined) return this.#taken.some(taken => taken.text === text) ? 0 : body.size
    return storedBlobs(stored).length * this.#inlineBytesMax
  }

  /**
   * For compaction: writes the current record of a key again at the tail, with `body` when the body must move too. False, and no
   * change, when `isCurrent` says that the record has changed since compaction read it.
   */
  rewrite(key: Buffer, isCurrent: (stored: Buffer) => boolean, body: Uint8Array | undefined): boolean {
    const batch = this.#openBatch()
    const text = keyText(key)
    const stored = this.#state.newest(text, key)
    if (stored === undefined || !isCurrent(stored)) return false
    const ref = body === undefined ? storedBody(stored) : this.#writeBody(batch, body)
    this.#put(batch, key, storedValue(stored), ref, body === undefined && ref !== undefined, storedBlobs(stored))
    return true
  }

  /** For compaction: writes a delete again, unless the key exists again. */
  carryTombstone(key: Buffer, guard: number): void {
    const batch = this.#openBatch()
    const text = keyText(key)
    if (this.#state.newest(text, key) === undefined) this.#delete(batch, text, key, guard)
  }

  #openBatch(): Batch {
    if (this.#batch === undefined) throw new Error('the transaction is over')
    return this.#batch
  }

  #checkSize(batch: Batch): void {
    if (batch.length > transactionBytesMax + batch.softBytes) {
      throw new RangeError(`A transaction has at most ${transactionBytesMax} bytes.`)
    }
  }
}
