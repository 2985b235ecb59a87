/**
 * What each drive derives from a record of a set, inside the commit: what the storage's user derives from its value, and the ledger
 * (counters and entries of incomplete records, see set-keys.ts). Because the ledger is derived, it is always the same function of the
 * records: no crash and no interrupted repair can make it wrong. Called by the drives, for each record that a commit changes.
 */
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { groupOf, incompleteKey, ledgerKey, ownerKey, tableByte, totalKey } from './set-keys.ts'
import { blobsOf, dataBytesOf, generationsOf, headOf, userValueOf } from './set-record.ts'

const allGroups = Buffer.alloc(0)
const nothing = Buffer.alloc(0)

export function deriveInSet(derive: Derive): Derive {
  const keys = new LedgerKeys()
  return (key, before, after, emit) => {
    if (key[0] === tableByte) return
    derive(
      key,
      before === undefined ? undefined : userValueOf(before),
      after === undefined ? undefined : userValueOf(after),
      emit,
    )
    count(keys, key, before, after, emit)
    if (before !== undefined) list(key, before, emit, -1)
    if (after !== undefined) list(key, after, emit, 1)
  }
}

/** Counts a record in the totals, and under its generations. */
function count(
  keys: LedgerKeys,
  key: Buffer,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
  emit: DerivedWriter,
): void {
  const old = before && generationsOf(before)
  const now = after && generationsOf(after)
  const isCounted = old !== undefined && old.length > 0
  const counts = now !== undefined && now.length > 0
  if (isCounted && counts && old.equals(now)) {
    const bytes = dataBytesOf(after!) - dataBytesOf(before!)
    if (bytes !== 0) for (const counter of keys.of(key, now)) emit.add(counter, [0, bytes])
    return
  }
  if (isCounted) for (const counter of keys.of(key, old)) emit.add(counter, [-1, -dataBytesOf(before!)])
  if (counts) for (const counter of keys.of(key, now)) emit.add(counter, [1, dataBytesOf(after!)])
}

/** The counters of a record. Nearly all records of a bucket have the same, so the last ones are kept. */
class LedgerKeys {
  #group: Buffer = allGroups
  #generations: Buffer = nothing
  #keys: readonly Buffer[] | undefined

  of(key: Buffer, generations: Buffer): readonly Buffer[] {
    const group = groupOf(key)
    if (this.#keys === undefined || !group.equals(this.#group) || !generations.equals(this.#generations)) {
      // Copies: a record is only valid for this turn.
      this.#group = Buffer.from(group)
      this.#generations = Buffer.from(generations)
      this.#keys = [allGroups, this.#group].flatMap(each => [totalKey(each), ledgerKey(each, generations)])
    }
    return this.#keys
  }
}

/** Lists a record under its blobs, and among those that lack a shard. */
function list(key: Buffer, record: Uint8Array, emit: DerivedWriter, sign: 1 | -1): void {
  const generations = generationsOf(record)
  if (generations.length === 0) return
  for (const { id } of blobsOf(record)) {
    if (sign < 0) emit.delete(ownerKey(id, key))
    else emit.put(ownerKey(id, key), nothing)
  }
  let left = 0
  for (const generation of generations) if (generation !== 0) left++
  if (left === generations.length) return
  // A record with less parity is as close to loss as one with full parity and as many fewer shards.
  const entry = incompleteKey(Math.max(0, left - headOf(record).lessParity), key)
  // The entry of the old record is deleted before the new one is put, so an unchanged entry stays.
  if (sign < 0) emit.delete(entry)
  else emit.put(entry, nothing)
}
