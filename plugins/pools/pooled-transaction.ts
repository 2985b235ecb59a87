/**
 * The transaction that procedures get where there are several sets: that of the record set. It takes references to blobs of other sets out
 * of each record that is put, and stores them beside it in the same transaction (see record-references.ts). Created by `procedures.ts`.
 */
import type { PutOptions, RecordKey, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { isElsewhere } from './blob-ids.ts'
import { blobOfReference, blobReferenceOf, groupOf, groupOfReference, noGroup } from './blob-references.ts'
import type { FreshReferences } from './fresh-references.ts'
import {
  blobCountKey,
  decodeReferences,
  encodeReferences,
  type ReferenceEntry,
  referenceCountKey,
  referencesKey,
} from './record-references.ts'

const nothing: readonly string[] = []

/** How many records use the reference. One without a group counts all records that refer to the blob. */
export function countOf(tx: Pick<Transaction, 'counter'>, reference: string): number {
  const key =
    groupOfReference(reference) === noGroup ? blobCountKey(blobOfReference(reference)) : referenceCountKey(reference)
  return tx.counter(key)[0] ?? 0
}

export class PooledTransaction implements Transaction {
  readonly #tx: Transaction
  readonly #fresh: FreshReferences
  readonly #user: object
  /** Fresh references that it uses. */
  readonly used: string[] = []
  /** References to acquire first: the blob is kept, but not for this group. The transaction must not be committed. */
  readonly missing = new Map<string, ReferenceEntry>()
  /** By reference: entries that a record had and no longer has; another record may still have them. */
  readonly dropped = new Map<string, ReferenceEntry>()

  /** `user`: the commit that it belongs to, the same for each attempt. */
  constructor(tx: Transaction, fresh: FreshReferences, user: object) {
    this.#tx = tx
    this.#fresh = fresh
    this.#user = user
  }

  get sequence(): number {
    return this.#tx.sequence
  }

  get nowMs(): number {
    return this.#tx.nowMs
  }

  get(key: RecordKey): StoredRecord | undefined {
    return this.#tx.get(key)
  }

  first(start: RecordKey, end: RecordKey) {
    return this.#tx.first(start, end)
  }

  counter(key: RecordKey): readonly number[] {
    return this.#tx.counter(key)
  }

  put(key: RecordKey, value: Uint8Array, options?: PutOptions): void {
    const blobs = options?.blobs
    if (blobs === undefined || !blobs.some(isElsewhere)) {
      this.#tx.put(key, value, options)
      this.#refer(key, nothing)
      return
    }
    this.#tx.put(key, value, { ...options, blobs: blobs.filter(id => !isElsewhere(id)) })
    this.#refer(key, blobs.filter(isElsewhere))
  }

  delete(key: RecordKey): void {
    this.#tx.delete(key)
    this.#refer(key, nothing)
  }

  /** Replaces the references of a record. */
  #refer(key: Buffer, ids: readonly string[]): void {
    const place = referencesKey(key)
    const found = this.#tx.get(place)
    if (found === undefined && ids.length === 0) return
    const before = found === undefined ? [] : decodeReferences(place, found.value)
    const group = groupOf(key)
    const entries = [...new Set(ids)].map(id => this.#known(id, group, before))
    for (const entry of before) {
      if (!entries.some(({ reference }) => reference === entry.reference)) this.dropped.set(entry.reference, entry)
    }
    if (entries.length === 0) this.#tx.delete(place)
    else this.#tx.put(place, encodeReferences(entries))
  }

  /** Throws `gone` if nothing keeps the blob: it may already be deleted, or be deleted at any moment. */
  #known(id: string, group: string, before: readonly ReferenceEntry[]): ReferenceEntry {
    const reference = blobReferenceOf(id, group)
    const own = before.find(entry => entry.reference === reference) ?? this.dropped.get(reference)
    if (own !== undefined) return own
    const [count = 0, bytes = 0] = this.#tx.counter(blobCountKey(id))
    const size = count > 0 ? bytes / count : (this.#droppedSize(id) ?? this.#fresh.sizeOf(id))
    if (size === undefined) throw storageErrors.gone('A blob that the record refers to is gone.')
    const entry = { id, reference, size }
    if (countOf(this.#tx, reference) > 0) return entry
    if (this.#fresh.use(reference, this.#user)) this.used.push(reference)
    else this.missing.set(reference, entry)
    return entry
  }

  /** Size of a blob that another record has dropped in this transaction, whatever the group. */
  #droppedSize(id: string): number | undefined {
    for (const entry of this.dropped.values()) if (entry.id === id) return entry.size
    return undefined
  }
}
