/**
 * What each drive derives from a record of a set, inside the commit: what the storage's user derives from its value, and the ledger
 * (counters and entries of incomplete records, see set-keys.ts). Because the ledger is derived, it is always the same function of the
 * records: no crash and no interrupted repair can make it wrong. Called by the drives, for each record that a commit changes.
 */
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { groupOf, incompleteKey, ledgerKey, ownerKey, tableByte, totalKey } from './set-keys.ts'
import { dataBytesOf, generationsOf, headOf, userValueOf } from './set-record.ts'

const allGroups = Buffer.alloc(0)
const nothing = Buffer.alloc(0)

export function deriveInSet(derive: Derive): Derive {
  return (key, before, after, emit) => {
    if (key[0] === tableByte) return
    derive(
      key,
      before === undefined ? undefined : userValueOf(before),
      after === undefined ? undefined : userValueOf(after),
      emit,
    )
    if (before !== undefined) count(key, before, emit, -1)
    if (after !== undefined) count(key, after, emit, 1)
  }
}

function count(key: Buffer, record: Uint8Array, emit: DerivedWriter, sign: 1 | -1): void {
  const generations = generationsOf(record)
  if (generations.length === 0) return
  const deltas = [sign, sign * dataBytesOf(record)]
  const group = groupOf(key)
  emit.add(totalKey(allGroups), deltas)
  emit.add(totalKey(group), deltas)
  emit.add(ledgerKey(allGroups, generations), deltas)
  emit.add(ledgerKey(group, generations), deltas)
  const { blobs, lessParity } = headOf(record)
  for (const { id } of blobs) {
    if (sign < 0) emit.delete(ownerKey(id, key))
    else emit.put(ownerKey(id, key), nothing)
  }
  let left = 0
  for (const generation of generations) if (generation !== 0) left++
  if (left === generations.length) return
  // A record with less parity is as close to loss as one with full parity and as many fewer shards.
  const entry = incompleteKey(Math.max(0, left - lessParity), key)
  // The entry of the old record is deleted before the new one is put, so an unchanged entry stays.
  if (sign < 0) emit.delete(entry)
  else emit.put(entry, nothing)
}
