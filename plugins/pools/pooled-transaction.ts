/**
 * What a procedure works with where there are several sets: the transaction of the set that has the records. References to blobs of other
 * sets are taken out of what is put and kept beside the record, in the same transaction.
 */
import type { PutOptions, RecordKey, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { isElsewhere } from './blob-ids.ts'
import { blobOfClaim, claimOf, groupOf, groupOfClaim, noGroup } from './claims.ts'
import type { FreshClaims } from './fresh-claims.ts'
import {
  claimCountKey,
  countKey,
  decodeReferences,
  encodeReferences,
  type Reference,
  referencesKey,
} from './references.ts'

const nothing: readonly string[] = []

/** How many records use the claim. Blobs that were referred to before there were groups count with all that refer to them. */
export function countOf(tx: Pick<Transaction, 'counter'>, claim: string): number {
  const key = groupOfClaim(claim) === noGroup ? countKey(blobOfClaim(claim)) : claimCountKey(claim)
  return tx.counter(key)[0] ?? 0
}

export class PooledTransaction implements Transaction {
  readonly #tx: Transaction
  readonly #fresh: FreshClaims
  readonly #user: object
  /** Fresh claims that it uses. */
  readonly referred: string[] = []
  /** Claims that are to be granted first: of blobs that are kept, but not for this group. The transaction must not be made. */
  readonly wanted = new Map<string, Reference>()
  /** By claim: what a record had, and another one may have. */
  readonly released = new Map<string, Reference>()

  /** `user`: whom it belongs to, however often it runs. */
  constructor(tx: Transaction, fresh: FreshClaims, user: object) {
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

  /** Replaces what the record refers to. */
  #refer(key: Buffer, ids: readonly string[]): void {
    const place = referencesKey(key)
    const found = this.#tx.get(place)
    if (found === undefined && ids.length === 0) return
    const before = found === undefined ? [] : decodeReferences(place, found.value)
    const group = groupOf(key)
    const references = [...new Set(ids)].map(id => this.#known(id, group, before))
    for (const reference of before) {
      if (!references.some(({ claim }) => claim === reference.claim)) this.released.set(reference.claim, reference)
    }
    if (references.length === 0) this.#tx.delete(place)
    else this.#tx.put(place, encodeReferences(references))
  }

  /** Throws `gone` where nothing keeps the blob: it may be deleted already, or at any moment. */
  #known(id: string, group: string, before: readonly Reference[]): Reference {
    const claim = claimOf(id, group)
    const own = before.find(reference => reference.claim === claim) ?? this.released.get(claim)
    if (own !== undefined) return own
    const [count = 0, bytes = 0] = this.#tx.counter(countKey(id))
    const size = count > 0 ? bytes / count : (this.#releasedSize(id) ?? this.#fresh.sizeOf(id))
    if (size === undefined) throw storageErrors.gone('Nothing keeps a blob that is referred to.')
    const reference = { id, claim, size }
    if (countOf(this.#tx, claim) > 0) return reference
    if (this.#fresh.refer(claim, this.#user)) this.referred.push(claim)
    else this.wanted.set(claim, reference)
    return reference
  }

  /** Of a blob that a record has let go of in this transaction, for whatever group. */
  #releasedSize(id: string): number | undefined {
    for (const reference of this.released.values()) if (reference.id === id) return reference.size
    return undefined
  }
}
