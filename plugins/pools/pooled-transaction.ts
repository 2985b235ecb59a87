/**
 * What a procedure works with where there are several sets: the transaction of the set that has the records. References to blobs of other
 * sets are taken out of what is put and kept beside the record, in the same transaction.
 */
import type { PutOptions, RecordKey, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { isElsewhere } from './blob-ids.ts'
import type { FreshBlobs } from './fresh-blobs.ts'
import { countKey, decodeReferences, encodeReferences, type Reference, referencesKey } from './references.ts'

const nothing: readonly string[] = []

export class PooledTransaction implements Transaction {
  readonly #tx: Transaction
  readonly #fresh: FreshBlobs
  /** Fresh blobs that it refers to. */
  readonly referred: string[] = []
  /** Blobs to which a record no longer refers, and their sizes. */
  readonly #released = new Map<string, number>()

  constructor(tx: Transaction, fresh: FreshBlobs) {
    this.#tx = tx
    this.#fresh = fresh
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

  /** Replaces what the record refers to. */
  #refer(key: Buffer, ids: readonly string[]): void {
    const place = referencesKey(key)
    const found = this.#tx.get(place)
    if (found === undefined && ids.length === 0) return
    const before = found === undefined ? [] : decodeReferences(found.value)
    const references = [...new Set(ids)].map(id => this.#known(id, before))
    for (const { id, size } of before) if (!ids.includes(id)) this.#released.set(id, size)
    if (references.length === 0) this.#tx.delete(place)
    else this.#tx.put(place, encodeReferences(references))
  }

  /** Throws `gone` where nothing keeps the blob: it may be deleted already, or at any moment. */
  #known(id: string, before: readonly Reference[]): Reference {
    const own = before.find(reference => reference.id === id)
    if (own !== undefined) return own
    const [count = 0, bytes = 0] = this.#tx.counter(countKey(id))
    if (count > 0) return { id, size: bytes / count }
    const released = this.#released.get(id)
    if (released !== undefined) return { id, size: released }
    const size = this.#fresh.sizeOf(id)
    if (size === undefined || !this.#fresh.refer(id))
      throw storageErrors.gone('Nothing keeps a blob that is referred to.')
    this.referred.push(id)
    return { id, size }
  }

  /** At its end: the blobs to which no record refers any more. */
  ended(): string[] {
    const ids: string[] = []
    for (const id of this.#released.keys()) if ((this.#tx.counter(countKey(id))[0] ?? 0) === 0) ids.push(id)
    return ids
  }
}
