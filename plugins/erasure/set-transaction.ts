/**
 * The transaction object that is passed to a procedure when it runs on a set of drives. The procedure runs once, on one drive, the leader.
 * Its changes go into the leader's own transaction and are recorded as *operations*, which the other drives, the followers, replay
 * without running the procedure: so all drives make the same changes in the same order, and procedures need not be deterministic.
 * `set-procedures.ts` creates the transaction and sends the operations to the followers.
 */
import { crc32 } from '@node-rs/crc32'
import type { BodyRef, PutOptions, RecordKey, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { stagedKey } from './set-keys.ts'
import {
  type BlobEntry,
  encodeRecord,
  hasBody,
  headOf,
  plainHead,
  type RecordHead,
  userValueOf,
  wholeOf,
} from './set-record.ts'

/** Where a drive finds its shard of the body of a record that is put: staged, or beside a record (possibly the same one). */
export interface BodySource {
  readonly key: Buffer | undefined
  readonly staged: string | undefined
  /** Slots for which the shard is staged; undefined: all. */
  readonly stagedSlots: readonly number[] | undefined
}

export function isStagedFor({ staged, stagedSlots }: BodySource, slot: number): boolean {
  return staged !== undefined && (stagedSlots === undefined || stagedSlots.includes(slot))
}

export type Operation =
  | {
      readonly kind: 'put'
      readonly key: Buffer
      /** The record as each drive stores it. */
      readonly record: Buffer
      readonly bodySource: BodySource | undefined
      readonly blobs: readonly string[]
    }
  | { readonly kind: 'delete'; readonly key: Buffer }

/** A body whose shards are staged on the drives and have no record yet. */
export interface StagedBody {
  readonly id: string
  readonly head: Omit<RecordHead, 'identity' | 'blobs'>
}

/** Size of a blob, and which drives have their shard of it. */
export interface KnownBlob {
  readonly size: number
  readonly generations: Uint8Array
  /** Undefined if it is the parity of the set. */
  readonly parityCount: number | undefined
}

export interface SetTransactionOptions {
  readonly tx: Transaction
  /** Unique in the set: two leaders never use the same. */
  readonly sequence: number
  readonly body: Uint8Array | undefined
  readonly staged: StagedBody | undefined
  readonly slotCount: number
  /** Parity of the set. */
  readonly parityCount: number
  /** Blobs that were written and are not referenced yet. */
  freshBlob(id: string): KnownBlob | undefined
}

/** Placeholder by which a procedure sees that a record has a body; it cannot be read here. */
const someBody: BodyRef = { segment: 0, offset: 0, size: 0, check: 0 }
const noBlobIds: readonly string[] = []

export class SetTransaction implements Transaction {
  readonly #options: SetTransactionOptions
  readonly #tx: Transaction
  readonly sequence: number
  readonly operations: Operation[] = []
  /** Key of the record that has this drive's shard of the staged body. */
  #stagedAt: Buffer | undefined
  /** Blobs of records that were read: a procedure that puts a blob again has read the record that has it. */
  readonly #seenBlobs = new Map<string, KnownBlob>()

  constructor(options: SetTransactionOptions) {
    this.#options = options
    this.#tx = options.tx
    this.sequence = options.sequence
  }

  get nowMs(): number {
    return this.#tx.nowMs
  }

  counter(key: RecordKey): readonly number[] {
    return this.#tx.counter(key)
  }

  get(key: RecordKey): StoredRecord | undefined {
    const found = this.#tx.get(key)
    return found === undefined ? undefined : this.#show(found.value)
  }

  first(start: RecordKey, end: RecordKey) {
    const found = this.#tx.first(start, end)
    return found === undefined ? undefined : { key: found.key, record: this.#show(found.record.value) }
  }

  #show(record: Uint8Array): StoredRecord {
    const head = headOf(record)
    const { generations } = head
    for (const { id, size, parityCount } of head.blobs) this.#seenBlobs.set(id, { size, generations, parityCount })
    return { value: userValueOf(record), body: hasBody(record) ? someBody : undefined }
  }

  put(key: RecordKey, value: Uint8Array, options: PutOptions = {}): void {
    const { body, bodyOf, blobs = noBlobIds } = options
    if (bodyOf !== undefined) this.#putWithBodyOf(key, value, bodyOf, blobs)
    else if (body === undefined) this.#write(key, encodeRecord(this.#headOfBlobs(blobs), value), undefined, blobs)
    else if (body === this.#options.body && this.#options.staged !== undefined) this.#putStaged(key, value)
    else this.#putWhole(key, value, body)
  }

  #putStaged(key: RecordKey, value: Uint8Array): void {
    const { head, id } = this.#options.staged!
    const record = encodeRecord({ ...head, identity: this.sequence, blobs: [] }, value)
    if (this.#stagedAt === undefined) {
      const from = stagedKey(id)
      // The leader may lack its shard: it was full, or became the leader after the body was staged.
      const isHere = this.#tx.get(from) !== undefined
      const source = { key: undefined, staged: id, stagedSlots: undefined }
      this.#write(key, record, source, noBlobIds, isHere ? from : undefined)
      if (isHere) this.#tx.delete(from)
    } else this.#write(key, record, bodyBeside(this.#stagedAt), noBlobIds, this.#stagedAt)
    this.#stagedAt = Buffer.from(key)
  }

  /** Stores a body in the record: a small one, or one that the procedure made itself, which could not be staged. */
  #putWhole(key: RecordKey, value: Uint8Array, body: Uint8Array): void {
    const head: RecordHead = {
      ...plainHead,
      body: 'whole',
      identity: this.sequence,
      bodyBytes: body.length,
      bodyCheck: crc32(body),
    }
    this.#write(key, encodeRecord(head, value, body), undefined, noBlobIds)
  }

  #putWithBodyOf(key: RecordKey, value: Uint8Array, from: RecordKey, blobs: readonly string[]): void {
    const source = this.#tx.get(from)
    if (source === undefined) throw new Error('bodyOf names a record that does not exist')
    const head = headOf(source.value)
    if (head.body === 'none') {
      this.#write(key, encodeRecord(this.#headOfBlobs(blobs), value), undefined, blobs)
      return
    }
    const whole = wholeOf(source.value)
    const record = encodeRecord(head, value, whole === undefined ? undefined : Buffer.from(whole))
    if (head.body === 'whole') this.#write(key, record, undefined, blobs)
    // The leader may be a drive that lacks its shard.
    else this.#write(key, record, bodyBeside(from), blobs, source.body === undefined ? undefined : from)
  }

  #write(
    key: RecordKey,
    record: Buffer,
    bodySource: BodySource | undefined,
    blobs: readonly string[],
    bodyOf?: Buffer,
  ): void {
    this.#tx.put(key, record, { bodyOf, blobs })
    this.operations.push({ kind: 'put', key: Buffer.from(key), record, bodySource, blobs })
  }

  /** A drive has a record's blobs only when it has each of them. */
  #headOfBlobs(ids: readonly string[]): RecordHead {
    if (ids.length === 0) return plainHead
    const { slotCount, parityCount, freshBlob } = this.#options
    const generations = new Uint8Array(slotCount)
    let least = parityCount
    const blobs: BlobEntry[] = []
    let dataBytes = 0
    for (const [i, id] of ids.entries()) {
      const known = this.#seenBlobs.get(id) ?? freshBlob(id)
      const size = known?.size ?? 0
      const ofBlob = known?.parityCount ?? parityCount
      least = Math.min(least, ofBlob)
      blobs.push({ id, size, parityCount: ofBlob })
      dataBytes += size
      for (let slot = 0; slot < generations.length; slot++) {
        const generation = known?.generations[slot] ?? 0
        // If two drives took the slot in turn, neither has all blobs.
        generations[slot] = i === 0 || generations[slot] === generation ? generation : 0
      }
    }
    // The record survives no more losses than its blob with the least parity.
    const counts = { dataCount: slotCount - least, parityCount: least, lessParity: parityCount - least }
    return { ...plainHead, ...counts, identity: this.sequence, dataBytes, generations, blobs }
  }

  delete(key: RecordKey): void {
    this.#tx.delete(key)
    this.operations.push({ kind: 'delete', key: Buffer.from(key) })
  }
}

function bodyBeside(key: RecordKey): BodySource {
  return { key: Buffer.from(key), staged: undefined, stagedSlots: undefined }
}

export function blobIdsOf(head: RecordHead): readonly string[] {
  return head.blobs.map(blob => blob.id)
}
